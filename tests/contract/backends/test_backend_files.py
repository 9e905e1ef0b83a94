"""The capabilities `files` and `environments`: one walk through each protocol."""

import hashlib

import pytest

from muster.domain.errors import NotFound
from muster.lib.ids import new_id
from muster.ports.files import Exists, FileKind, FileSpace, Outside, Place, Upload, WrongKind, WrongOffset
from tests.contract.backends.observing import Site

pytestmark = pytest.mark.anyio
DATA = b"0123456789"


async def test_a_file_is_uploaded_in_pieces_read_and_removed(site: Site) -> None:
    files, place = _files(site), _place(site, "sub/data.bin")
    await files.make_folder(_place(site, "sub"), parents=False)
    upload = Upload(new_id(), len(DATA), hashlib.sha256(DATA).hexdigest())
    assert await files.received(place, upload) is None
    assert await files.write(place, upload, 0, DATA[:4]) == 4
    with pytest.raises(WrongOffset) as wrong:
        await files.write(place, upload, 7, DATA[7:])
    assert wrong.value.received == 4
    assert await files.write(place, upload, 4, DATA[4:]) == len(DATA)
    while not await files.commit(place, upload):
        pass
    facts = await files.stat(place)
    assert (facts.kind, facts.size) == (FileKind.FILE, len(DATA))
    piece = await files.read(place, 2, 5, version=facts.version)
    assert (piece.data[:5], piece.size) == (DATA[2:7], len(DATA))
    listing = await files.list(_place(site, "sub"), limit=10, cursor=None)
    assert ([entry.name for entry in listing.entries], listing.cursor) == (["data.bin"], None)
    run = new_id()
    while not (await files.remove(_place(site, "sub"), run, recursive=True)).done:
        pass
    with pytest.raises(NotFound):
        await files.stat(place)


async def test_an_upload_that_is_given_up_leaves_nothing(site: Site) -> None:
    files, place = _files(site), _place(site, "data.bin")
    upload = Upload(new_id(), len(DATA), hashlib.sha256(DATA).hexdigest())
    await files.write(place, upload, 0, DATA[:4])
    await files.abort(place, upload)
    assert await files.received(place, upload) is None
    assert (await files.list(_place(site, ""), limit=10, cursor=None)).entries == []


async def test_a_file_is_written_in_place_at_any_offset_and_keeps_what_was_there(site: Site) -> None:
    files, place = _files(site), _place(site, "sparse.bin")
    await files.resize(place, 10)
    await files.write_at(place, 4, DATA[:4])
    await files.write_at(place, 4, DATA[:4])
    await files.resize(place, 10)
    assert (await files.read(place, 0, 20)).data == b"\0\0\0\x000123\0\0"
    await files.resize(place, 3)
    assert (await files.read(place, 0, 20)).data == b"\0\0\0"


async def test_a_file_that_is_not_there_cannot_be_written_in_place(site: Site) -> None:
    with pytest.raises(NotFound):
        await _files(site).write_at(_place(site, "absent.bin"), 0, DATA)


async def test_a_folder_and_what_is_outside_are_neither_resized_nor_written_in_place(site: Site) -> None:
    files = _files(site)
    await files.make_folder(_place(site, "sub"), parents=False)
    for act in (files.resize(_place(site, "sub"), 1), files.write_at(_place(site, "sub"), 0, DATA)):
        with pytest.raises(WrongKind):
            await act
    for act in (files.resize(_place(site, "../out"), 1), files.write_at(_place(site, "../out"), 0, DATA)):
        with pytest.raises(Outside):
            await act


async def test_no_path_leads_out_of_its_root(site: Site) -> None:
    files = _files(site)
    with pytest.raises(Outside):
        await files.stat(_place(site, "../node"))


async def test_a_folder_is_made_once(site: Site) -> None:
    files, place = _files(site), _place(site, "sub")
    await files.make_folder(place, parents=False)
    with pytest.raises(Exists):
        await files.make_folder(place, parents=False)


async def test_a_private_folder_is_for_its_owner_alone(site: Site) -> None:
    files, place = _files(site), _place(site, "sub")
    await files.make_folder(place, parents=True, private=True)
    assert (await files.stat(place)).mode == 0o700


async def test_a_node_lists_its_environments(site: Site) -> None:
    environments = site.backend.capabilities.environments
    if environments is None:
        pytest.skip("this backend does not offer environments")
    listing = await environments.listing(site.harness.node, [], None)
    assert listing.node == site.harness.node
    assert all(environment.name for environment in listing.environments)


def _place(site: Site, path: str) -> Place:
    return Place(site.harness.node, site.harness.folder, path, f"files:{path}", None)


def _files(site: Site) -> FileSpace:
    files = site.backend.capabilities.files
    if files is None:
        pytest.skip("this backend does not offer files")
    return files
