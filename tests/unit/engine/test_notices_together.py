"""Many notices for the same people go out as one, and few as they are."""

from dataclasses import replace

import pytest

from muster.domain.alerting.notices import QueuedNotice
from muster.engine.alerting.together import LEAST, MOST, parcel, together

pytestmark = pytest.mark.fast


def notices(count: int, way: str = "mail") -> list[QueuedNotice]:
    return [
        QueuedNotice(f"n{number}", way, "u", "failure", float(number), f"[Muster] job-{number} failed", f"why {number}")
        for number in range(count)
    ]


def test_few_notices_go_out_one_by_one_and_many_together() -> None:
    assert parcel(notices(LEAST - 1)) == notices(1)
    assert parcel(notices(LEAST)) == notices(LEAST)
    assert parcel(notices(MOST + 7)) == notices(MOST)


@pytest.mark.parametrize("way", ["webhook", "notices[3] webhook"])
def test_programs_get_each_notice_on_its_own(way: str) -> None:
    assert parcel(notices(MOST, way)) == notices(1, way)


def test_one_notice_says_what_all_say_the_titles_first() -> None:
    made = together(notices(3))
    assert made.title == "[Muster] (3) job-0 failed"
    listed, _, rest = made.text.partition("\n\n")
    assert listed == "- job-0 failed\n- job-1 failed\n- job-2 failed"
    assert rest == "job-0 failed\n\nwhy 0\n\njob-1 failed\n\nwhy 1\n\njob-2 failed\n\nwhy 2"
    assert (made.way, made.user_id, made.at, dict(made.data)) == ("mail", "u", 0.0, {})


def test_the_same_notices_have_the_same_id_together_and_a_single_one_its_own() -> None:
    assert together(notices(3)).id == together([replace(one, tries=2) for one in notices(3)]).id
    assert together(notices(3)).id != together(notices(4)).id
    assert together(notices(1)) == notices(1)[0]
