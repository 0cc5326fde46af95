"""Orders."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Makes the table."""

    initial = True
    dependencies = ()
    operations = (
        migrations.CreateModel(
            name="Order",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("item", models.CharField(max_length=100)),
                ("mailed", models.IntegerField(default=0)),
            ],
        ),
    )
