"""Write the texts anew after a statement has changed: `python -m tests.sql`; then read the difference."""

from tests.sql.texts import FOLDER, files, wanted

texts = files(wanted())
for name, text in texts.items():
    path = FOLDER / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
for path in FOLDER.glob("*/*.sql"):
    if f"{path.parent.name}/{path.name}" not in texts:
        path.unlink()
