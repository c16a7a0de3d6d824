"""inferctl chat in scripts: one question, questions on standard input, text that is no UTF-8."""
import os
import signal

from daemon import BIN
from test_inferctl import Terminal


def chat(daemon, *arguments, **options):
    return daemon.inferctl("chat", "smollm2", "--max-tokens", "30", *arguments, **options)


def test_one_question_by_its_short_name_or_from_standard_input(daemon):
    question = "What is the capital of France? Answer in one sentence."
    asked = chat(daemon, "--message", question)
    assert asked.returncode == 0 and "Paris" in asked.stdout, asked.stderr
    assert chat(daemon, "-m", question).stdout == asked.stdout
    assert chat(daemon, "-m", "-", input=question + "\n").stdout == asked.stdout
    empty = chat(daemon, "-m", "-", input="")
    assert empty.returncode == 2 and "standard input is empty" in empty.stderr
    nothing = chat(daemon, "-m", "", input=question)
    assert nothing.returncode == 2 and "--message: is empty" in nothing.stderr and not nothing.stdout, "a script's empty variable is no conversation"


def test_the_system_message_counts(daemon):
    plain = chat(daemon, "-m", "What is your name?", "--temperature", "0")
    told = chat(daemon, "-m", "What is your name?", "--temperature", "0", "--system", "You are Zorblax, a robot. Your name is Zorblax.")
    assert told.returncode == 0 and told.stdout != plain.stdout


def test_a_line_that_is_no_utf8_is_refused_and_the_next_is_answered(daemon):
    result = daemon.inferctl_bytes("chat", "smollm2", "--max-tokens", "30", "--temperature", "0",
                                   input=b"caf\xe9 \xff\nWhat is the capital of France? Answer in one sentence.\n")
    assert b"not valid UTF-8" in result.stderr and b"Paris" in result.stdout
    assert result.returncode == 1, "a script learns that a line was not sent"


def test_arguments_that_are_no_utf8_are_refused(daemon):
    for arguments in ([b"-m", b"caf\xe9"], [b"-m", b"x", b"--system", b"\xff"]):
        result = daemon.inferctl_bytes(b"chat", b"smollm2", *arguments)
        assert result.returncode == 2 and b"is not valid UTF-8" in result.stderr


def test_bytes_that_are_no_character_do_not_end_a_conversation(daemon, tmp_path):
    terminal = Terminal([str(BIN / "inferctl"), "--admin", daemon.admin, "chat", "smollm2", "--temperature", "0", "--max-tokens", "20"], tmp_path)
    try:
        terminal.expect("> ")
        # The last one is incomplete: what ends it, here Enter, is not part of it.
        for line in (b"Say \xe9\xff hi\n", b"Say caf\xe9\n", b"Say caf\xf0\x9f\n"):
            os.write(terminal.fd, line)
            terminal.expect(r"\[\d+ tokens, .*?\]")
            terminal.expect("> ")
        terminal.type("/quit\n")
        assert terminal.wait() == 0
    finally:
        try:
            os.kill(terminal.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.close(terminal.fd)
