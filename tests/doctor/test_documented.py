"""Each finding is on the page about the doctor."""

import re
from pathlib import Path

import duerow

SOURCE = Path(duerow.__file__).parent
PAGE = SOURCE.parent.parent / "docs" / "how-to" / "doctor.md"

CODE = re.compile(r'Finding\(\s*"([a-z-]+)",|lambda value: .*\n\s*"([a-z-]+)",')


def test_each_finding_is_documented():
    files = [*SOURCE.glob("doctor/*.py"), *SOURCE.rglob("diagnosis.py")]
    codes = {code for file in files for found in CODE.findall(file.read_text()) for code in found if code}
    assert len(codes) > 25
    page = PAGE.read_text()
    assert [code for code in sorted(codes) if f"`{code}`" not in page] == []
