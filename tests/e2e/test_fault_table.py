"""Every row of the table of process faults (reference/security.md) has a test, and every test named here exists."""
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT.parent / "shared" / "reference" / "security.md"

# The row's fault, and what proves its outcome: FILE::TEST, of pytest or of GoogleTest (Suite.Name).
TESTS = {
    "kill -9 of a worker in mid-stream": [
        "tests/e2e/test_process_faults.py::test_killed_workers_lose_and_alter_nothing",
        "tests/e2e/test_survival.py::test_every_kind_of_request_survives_kills_and_a_swap_beyond_its_drain",
        "gateway/calls/generation_deaths_test.cc::GenerationTest.GoesOnWithTheSameBytesAfterAKill"],
    "a request that kills its worker again": [
        "tests/e2e/test_faults_under_load.py::test_a_request_under_which_two_workers_die_is_refused_and_others_go_on",
        "tests/e2e/test_faults_under_load.py::test_requests_that_want_more_memory_than_there_is_are_refused_and_kill_nothing",
        "tests/e2e/test_faults_under_load.py::test_requests_that_wait_in_a_queue_are_not_blamed_for_deaths",
        "gateway/calls/generation_deaths_test.cc::GenerationTest.ARequestThatKillsTwoWorkersIsRefusedForAWhile"],
    "SIGSTOP of a worker": [
        "tests/e2e/test_process_faults.py::test_a_stopped_worker_is_replaced_and_its_requests_go_on",
        "daemon/process_faults_test.cc::ProcessFaults.StoppedWorkerIsKilledByTheWatchdogAndStartedAgain"],
    "crash loop": [
        "tests/e2e/test_faults_under_load.py::test_a_worker_that_crashes_again_and_again_fails_and_can_be_loaded",
        "daemon/process_faults_test.cc::ProcessFaults.CrashLoopEndsInFailed"],
    "model missing, corrupt, wrong tokenizer at a swap": [
        "tests/e2e/test_process_faults.py::test_a_swap_to_a_bad_file_leaves_the_old_version",
        "daemon/process_faults_test.cc::ProcessFaults.SwapToABadFileLeavesTheOldVersion"],
    "KV pool exhausted": [
        "tests/e2e/test_faults_under_load.py::test_streams_that_give_way_for_want_of_room_lose_nothing"],
    "NaN logits": [
        "tests/e2e/test_processes_models.py::test_logits_that_are_not_numbers_end_the_request_alone"],
    "out-of-memory kill": [
        "tests/e2e/test_process_faults.py::test_a_worker_beyond_its_memory_limit_is_told_apart",
        "daemon/managed_process_test.cc::DescribeExit.TellsCausesApart"],
    "supervisor killed": [
        "tests/e2e/test_processes.py::test_no_orphan_after_a_killed_supervisor",
        "tests/e2e/test_processes.py::test_restart_after_kill_needs_no_cleaning_up",
        "daemon/process_faults_test.cc::ProcessFaults.ChildrenEndWithinTwoSecondsOfAKilledSupervisor"],
    "gateway killed": [
        "tests/e2e/test_process_faults.py::test_a_killed_gateway_refuses_nobody"],
    "corrupt configuration at reload": [
        "tests/e2e/test_process_faults.py::test_reloads_at_once_and_in_the_middle_of_a_load",
        "daemon/process_faults_test.cc::ProcessFaults.BadConfigurationAtReloadLeavesTheOldAndNamesLineAndKey"],
    "two reloads at once; reload during a load": [
        "tests/e2e/test_process_faults.py::test_reloads_at_once_and_in_the_middle_of_a_load",
        "daemon/process_faults_test.cc::ProcessFaults.ConcurrentReloadsAreDoneOneAfterAnother"],
    "SIGTERM under load": [
        "tests/e2e/test_process_faults.py::test_sigterm_under_load_finishes_what_runs",
        "daemon/process_faults_test.cc::ProcessFaults.SecondSigtermEndsAtOnce"],
    "port in use": [
        "tests/e2e/test_processes.py::test_port_in_use_is_a_clear_error",
        "daemon/process_faults_test.cc::ProcessFaults.PortInUseIsAClearErrorBeforeReadiness"],
    "out of file descriptors": [
        "tests/e2e/test_process_faults.py::test_out_of_descriptors_recovers"],
    "disk full or blocked log pipe": [
        "tests/e2e/test_process_faults.py::test_logs_that_cannot_be_written_hold_nothing_up"],
    "clock jump of an hour": [
        "tests/e2e/test_clock.py::test_a_clock_that_jumps_by_an_hour_disturbs_nothing",
        "tests/e2e/test_clock.py::test_a_drain_ends_at_its_deadline_though_the_clock_is_set_back"],
}


def rows_of_the_table():
    section = TABLE.read_text().split("## Process faults", 1)[1].split("\n## ", 1)[0]
    rows = [line.strip("| ").split(" | ")[0] for line in section.splitlines() if line.startswith("|")]
    return rows[2:]  # below the heading


def test_every_row_has_a_test():
    if not TABLE.exists():
        pytest.skip(f"no table at {TABLE}")
    assert rows_of_the_table() == list(TESTS)


@pytest.mark.parametrize("row", TESTS)
def test_the_tests_of_a_row_exist(row):
    assert TESTS[row]
    for named in TESTS[row]:
        file, name = named.split("::")
        text = (ROOT / file).read_text()
        if "." in name:
            suite, rule = name.split(".")
            assert re.search(rf"^TEST(_F|_P)?\({suite}, {rule}\)", text, re.MULTILINE), named
        else:
            assert re.search(rf"^def {name}\(", text, re.MULTILINE), named
