"""The secret of a class: made once, readable by its owner alone, and the same for runs that begin at the same time."""

import multiprocessing

import pytest
from graded_kernels.autograder.classroom.nbgrader.class_seed import FILE, ClassSecretError, class_seed


def test_a_class_keeps_its_seed_and_each_assignment_has_its_own(tmp_path):
    first = class_seed(tmp_path, "01_silu")
    assert class_seed(tmp_path, "01_silu") == first != class_seed(tmp_path, "02_gelu")
    assert 0 <= first < 2**31


def test_two_classes_have_nothing_in_common(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert class_seed(tmp_path / "a", "01_silu") != class_seed(tmp_path / "b", "01_silu")


def test_nobody_else_may_read_it(tmp_path):
    class_seed(tmp_path, "tiny")
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    (tmp_path / FILE).chmod(0o644)
    class_seed(tmp_path, "tiny")
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def test_runs_that_begin_at_the_same_time_agree(tmp_path):
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        for round_ in range(5):
            folder = tmp_path / str(round_)
            folder.mkdir()
            assert len(set(pool.starmap(class_seed, [(folder, "tiny")] * 8))) == 1


def test_a_run_that_was_killed_before_it_wrote_leaves_no_empty_secret(tmp_path):
    (tmp_path / FILE).touch()
    assert class_seed(tmp_path, "tiny") == class_seed(tmp_path, "tiny")
    assert len((tmp_path / FILE).read_text()) == 65


@pytest.mark.parametrize("content", ["a secret", "0" * 63, "0" * 200, "é" * 32])
def test_a_damaged_secret_is_not_replaced(tmp_path, content):
    (tmp_path / FILE).write_text(content)
    with pytest.raises(ClassSecretError, match="Put the file back"):
        class_seed(tmp_path, "tiny")
    assert (tmp_path / FILE).read_text() == content


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ClassSecretError, match="set c.Grade.seed"):
        class_seed(tmp_path, "tiny")
    assert not (tmp_path / "elsewhere").exists()
