"""Files appear whole or not at all, and gzip is recognised by content."""

import gzip
import os
import stat

import pytest

from irtkit.files import open_bytes, open_text, replacing


def test_a_new_file_has_the_usual_permissions_and_a_replaced_one_its_own(tmp_path):
    target = tmp_path / "table.csv"
    with replacing(target):
        pass
    usual = 0o666 & ~_umask()
    assert stat.S_IMODE(target.stat().st_mode) == usual
    target.chmod(0o640)
    with replacing(target) as temporary:
        temporary.write_text("new")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


@pytest.mark.parametrize(("name", "error", "message"), [
    ("absent/table.csv", FileNotFoundError, "folder .*absent does not exist"),
    ("folder", IsADirectoryError, "it is a folder"),
    ("file/table.csv", NotADirectoryError, "file is not a folder"),
    ("pipe", OSError, "not an ordinary file"),
])  # fmt: skip
def test_a_target_that_cannot_be_written_is_named(tmp_path, name, error, message):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(error, match=message), replacing(tmp_path / name):
        pytest.fail("the block must not run")


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_text_reads_the_same_plain_and_compressed_whatever_the_name(tmp_path, compress):
    path = tmp_path / "table.txt"
    path.write_bytes(compress("\ufeffä,1\r\nb".encode()))
    with open_text(path) as text:
        assert text.read() == "ä,1\r\nb"
    with open_bytes(path) as handle:
        assert handle.read().decode("utf-8-sig") == "ä,1\r\nb"


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
