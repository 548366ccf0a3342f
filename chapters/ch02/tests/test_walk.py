"""Check 2: the walk reaches what is inside, and nothing else, whatever happens on the way."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from chapters.ch02.walk import MAX_CHANGES, MAX_LINKS, Walk
from chapters.ch02.workspace import can_walk

pytestmark = pytest.mark.skipif(not can_walk(), reason="needs names relative to open directories")


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "root" / "d" / "e").mkdir(parents=True)
    (tmp_path / "root" / "d" / "f.txt").write_text("inside")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "f.txt").write_text("SECRET")
    return tmp_path


@pytest.fixture
def root(base: Path) -> Iterator[int]:
    descriptor = os.open(base / "root", os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def link(base: Path, name: str, target: str) -> None:
    (base / "root" / name).symlink_to(target)


def read(root: int, *names: str) -> str:
    with Walk(root, names) as place:
        assert place.status is not None
        descriptor = os.open(place.name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=place.directory)
        with open(descriptor) as file:  # noqa: PTH123
            return file.read()


def failure(root: int, *names: str) -> int | None:
    with pytest.raises(OSError) as caught, Walk(root, names):  # noqa: PT011
        pass
    return caught.value.errno


def test_it_ends_at_the_directory_that_holds_the_last_name(root: int) -> None:
    with Walk(root, ("d", "f.txt")) as place:
        assert (place.way, place.name, place.missing) == (["d"], "f.txt", ())
        assert place.status is not None
        assert place.status.st_size == len("inside")


def test_it_says_what_is_missing(root: int) -> None:
    with Walk(root, ("d", "new", "x.txt")) as place:
        assert (place.way, place.name, place.status) == (["d"], "new", None)
        assert place.missing == ("new", "x.txt")


def test_without_names_it_stays_at_the_root(root: int) -> None:
    with Walk(root, ()) as place:
        assert (place.directory, place.name) == (root, ".")


def test_it_follows_links_that_stay_inside(base: Path, root: int) -> None:
    link(base, "in", "d")
    link(base, "d/e/up", "../../in/./f.txt")
    assert read(root, "in", "f.txt") == "inside"
    assert read(root, "d", "e", "up") == "inside"
    with Walk(root, ("in", "e", "up")) as place:
        assert (place.way, place.name) == (["d"], "f.txt")


@pytest.mark.parametrize(
    "target", ["../out", "..", "d/../../out", "/", "/proc/self/cwd", "../root/d", "./../out/"]
)
def test_a_link_that_leaves_ends_the_walk_even_if_it_would_come_back(
    base: Path, root: int, target: str
) -> None:
    link(base, "esc", target)
    for names in [("esc",), ("esc", "f.txt"), ("esc", "no-such-name"), ("d", "..", "esc")]:
        assert failure(root, *names) == errno.EXDEV


def test_a_link_out_of_the_workspace_hides_what_exists_there(base: Path, root: int) -> None:
    link(base, "esc", "../out")
    link(base, "esc2", "../nowhere")
    assert failure(root, "esc", "f.txt") == failure(root, "esc2", "f.txt") == errno.EXDEV


def test_links_in_a_circle_end_the_walk(base: Path, root: int) -> None:
    link(base, "a", "b")
    link(base, "b", "a")
    assert failure(root, "a") == failure(root, "a", "x") == errno.ELOOP


def test_as_many_links_as_the_limit_says(base: Path, root: int) -> None:
    for number in range(MAX_LINKS + 1):
        link(base, f"l{number}", f"l{number + 1}")
    link(base, f"l{MAX_LINKS + 1}", "d/f.txt")
    assert read(root, "l2") == "inside"
    assert failure(root, "l1") == errno.ELOOP


def test_a_file_is_not_a_directory(root: int) -> None:
    assert failure(root, "d", "f.txt", "x") == errno.ENOTDIR


def test_a_name_below_a_missing_directory_cannot_lead_upwards(base: Path, root: int) -> None:
    link(base, "l", "missing/../d/f.txt")
    assert failure(root, "l") == errno.ENOENT


def test_what_is_exchanged_after_it_was_passed_changes_nothing(
    base: Path, root: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_lstat = os.lstat

    def exchange_then_look(name: str, *, dir_fd: int) -> os.stat_result:
        (base / "root" / "d").rename(base / "root" / "moved")
        link(base, "d", "../out")
        return real_lstat(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "lstat", exchange_then_look)
    assert read(root, "d", "f.txt") == "inside"


def test_what_changes_while_it_is_looked_at_is_tried_again_but_not_for_ever(
    base: Path, root: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    link(base, "in", "d")
    real_readlink = os.readlink
    changes = MAX_CHANGES

    def be_no_link_at_first(name: str, *, dir_fd: int) -> str:
        nonlocal changes
        changes -= 1
        if changes >= 0:
            raise OSError(errno.EINVAL, "")
        return real_readlink(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "readlink", be_no_link_at_first)
    assert read(root, "in", "f.txt") == "inside"
    changes = MAX_CHANGES + 1
    assert failure(root, "in", "f.txt") == errno.EAGAIN


def test_leaving_a_directory_goes_back_the_way_it_came(base: Path, root: int) -> None:
    link(base, "d/e/up", "../f.txt")
    real_readlink = os.readlink

    def move_then_read(name: str, *, dir_fd: int) -> str:
        (base / "root" / "d" / "e").rename(base / "out" / "e")  # `..` is now the outside
        return real_readlink(name, dir_fd=dir_fd)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "readlink", move_then_read)
        assert read(root, "d", "e", "up") == "inside"


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc to count descriptors")
def test_every_way_to_end_closes_what_it_opened(base: Path, root: int) -> None:
    link(base, "d/e/esc", "../../../out")
    link(base, "d/e/up", "../..")
    link(base, "a", "a")

    def opened() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = opened()
    read(root, "d", "f.txt")
    for names in [("d", "e", "esc"), ("d", "f.txt", "x"), ("a",), ("d", "e", "up", "a", "x")]:
        failure(root, *names)
    with pytest.raises(ZeroDivisionError), Walk(root, ("d", "e", "x")):
        _ = 1 / 0
    assert opened() == before
