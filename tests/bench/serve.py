#!/usr/bin/env python3
"""Measures inferd under load over HTTP, beside llama-server where its folder is given: tokens/s, time to the first token,
gaps between tokens. One server is measured at a time and they take turns, --runs times; medians are shown.

    tests/bench/serve.py MODEL.gguf --peer "$(tests/bench/peers.sh --build)" --plot serve.png
    tests/bench/serve.py MODEL.gguf --only clients,interference --json results.json
    tests/bench/serve.py MODEL.gguf --only speculation --runs 1

It runs unattended: a request that hangs or fails is counted, a server that dies ends its turn alone, and the figures so
far are in --json after each turn.
"""
import argparse
import asyncio
import importlib.util
import json
import math
import os
import pathlib
import statistics
import sys
import time

import servers
import streams
from percentile import percentile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCENARIOS = ("clients", "mixed", "arrivals", "interference", "prefix", "speculation")


def summary(answers, seconds):
    failed = [answer for answer in answers if answer.error]
    good = [answer for answer in answers if not answer.error]
    for answer in failed[:1]:
        print(f"  a request failed: {answer.error[:300]}", file=sys.stderr)
    gaps = [gap for answer in good for gap in answer.gaps]
    first = [answer.first_token_seconds for answer in good]
    return {
        "requests": len(answers), "failed": len(failed), "prompt_tokens": statistics.fmean(a.prompt_tokens for a in good) if good else 0,
        "tokens_per_second": sum(a.completion_tokens for a in good) / seconds,
        "ttft_p50": percentile(first, 0.5), "ttft_p95": percentile(first, 0.95),
        "gap_p50": percentile(gaps, 0.5), "gap_p99": percentile(gaps, 0.99),
    }


def mixed_length(source):
    """20 to 4000 tokens, short ones oftener."""
    return int(math.exp(source.uniform(math.log(20), math.log(4000))))


async def clients(server, arguments):
    """N clients, 115-token prompts, 64 tokens out."""
    out = {}
    for count in arguments.clients:
        answers, seconds = await streams.closed_loop(server.port, count, arguments.requests, lambda _: 115, 64, seed=count)
        out[f"{count} clients"] = summary(answers, seconds)
    return out


async def mixed(server, arguments):
    """N clients, prompts of 20 to 4000 tokens, 64 tokens out."""
    out = {}
    for count in arguments.clients:
        answers, seconds = await streams.closed_loop(server.port, count, 1, mixed_length, 64, seed=100 + count)
        out[f"{count} clients, 20..4000 tokens"] = summary(answers, seconds)
    return out


async def arrivals(server, arguments):
    """Open loop: requests of 20 to 4000 tokens arrive at a rate."""
    answers, seconds = await streams.open_loop(server.port, arguments.arrivals, arguments.rate, mixed_length, 64, seed=7)
    return {f"{arguments.rate:g}/s arrive, 20..4000 tokens": summary(answers, seconds)}


async def interference(server, arguments):
    """Eight streams; two seconds after the last of them began, a 4000-token prompt arrives beside them."""
    watched = [streams.Answer(time.monotonic()) for _ in range(8)]
    beside = [asyncio.create_task(streams.stream(server.port, streams.text_of(60, f"beside {i}"), 320, answer=answer))
              for i, answer in enumerate(watched)]
    while not all(answer.events or task.done() for answer, task in zip(watched, beside)):
        await asyncio.sleep(0.01)
    await asyncio.sleep(2)
    long = await streams.stream(server.port, streams.text_of(3900, "long"), 8)
    answers = await asyncio.gather(*beside)
    end = long.events[0] if long.events else long.arrived

    def gaps(begin, end):
        return [b - a for answer in answers for a, b in zip(answer.events, answer.events[1:]) if begin <= a < end]

    before = percentile(gaps(long.arrived - 1.5, long.arrived), 0.99)
    during = percentile(gaps(long.arrived, end), 0.99)
    return {"4000-token prompt beside 8 streams": {
        "failed": sum(bool(answer.error) for answer in [*answers, long]), "gap_p99_before": before, "gap_p99": during,
        "gap_ratio": during / before, "ttft_p50": long.first_token_seconds if long.events else float("nan")}}


async def prefix(server, arguments):
    """50 clients with a 1000-token system prompt in common; with the cache off, each has a first word of its own."""
    out = {}
    common = streams.text_of(1000, "system prompt")
    for label, begin in (("cache off", lambda i: f"{i} "), ("cache on", lambda _: "")):
        if label == "cache on":
            await streams.stream(server.port, common + " warm", 1)
        prompts = [begin(i) + common + " " + streams.text_of(20, f"{label} {i}") for i in range(50)]
        answers = await asyncio.gather(*(streams.stream(server.port, prompt, 16) for prompt in prompts))
        end = max((answer.events[-1] for answer in answers if answer.events), default=0)
        out[f"50 clients, common 1000 tokens, {label}"] = summary(answers, max(1e-9, end - min(a.arrived for a in answers)))
    return out


# A function twice, and the beginning of the next copy with its change, the name: small models, too, go on copying.
CODE = """# The same function with another name.
def {}(prices, rates, discounts):
    result = 0
    for price, rate, discount in zip(prices, rates, discounts):
        if price < 0 or rate < 0:
            raise ValueError("a price or a rate is below zero")
        taxed = price + price * rate
        reduced = taxed - taxed * discount
        result = result + reduced
    print("the sum of all prices is", result)
    return result

"""
EDIT = CODE.format("total") + CODE.format("total_of_prices") + CODE[:CODE.index("{")] + "total_of_rates("
ANSWERS = 5  # of each kind


async def speculation(server, arguments):
    """One client that has code repeated with a change, 128 tokens out: n-gram speculation beside none, in turns."""
    plain, guessed = "code edit, 1 client", "code edit, n-gram speculation, 1 client"
    if not isinstance(server, servers.Inferd):
        return {plain: {}, guessed: {}}  # it has no such option
    answers = {plain: [], guessed: []}
    with server.another(speculation={"kind": "ngram"}) as guessing:
        ports = dict(zip(answers, (server.port, guessing.port)))
        for i in range(1 + ANSWERS):  # the first reads the prompt
            for label, port in ports.items():
                answer = await streams.stream(port, EDIT, 128)
                if i > 0 or answer.error:
                    answers[label].append(answer)
    out = {}
    for label, some in answers.items():
        rates = [answer.completion_tokens / (answer.events[-1] - answer.arrived) for answer in some if not answer.error]
        out[label] = summary(some, 1) | {"tokens_per_second": percentile(rates, 0.5)}
    out[guessed]["speedup"] = out[guessed]["tokens_per_second"] / out[plain]["tokens_per_second"]
    return out


def measure(server, arguments):
    """All scenarios; those that failed are missing."""
    out = {}
    with server:
        # The first request touches every page of the file.
        asyncio.run(streams.calibrate(server.port))
        for name in arguments.only:
            began = time.monotonic()
            try:
                out.update(asyncio.run(globals()[name](server, arguments)))
            except (OSError, RuntimeError, ArithmeticError, IndexError) as error:
                print(f"  {server.name}, {name}: {type(error).__name__}: {error}", file=sys.stderr)
            print(f"  {server.name}, {name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        out["all"] = {"seconds_to_ready": server.seconds_to_ready, "resident_mib": server.resident_bytes() / 2**20}
    return out


def medians(runs):
    out = {}
    for test in dict.fromkeys(test for run in runs for test in run):
        rows = [run[test] for run in runs if test in run]
        out[test] = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
    return out


def print_table(results):
    print(f"{'test':<44} {'server':<13} {'tokens/s':>9} {'TTFT p50':>9} {'p95':>9} {'gap p50':>9} {'p99':>9} {'failed':>7}")
    cell = lambda row, key, scale: f"{row[key] * scale:9.1f}" if key in row else f"{'':>9}"
    for test in dict.fromkeys(test for rows in results.values() for test in rows):
        for name, rows in results.items():
            row = rows.get(test)
            if row is None:
                print(f"{test[:44]:<44} {name:<13} {'failed':>9}")
                continue
            if not row:
                continue
            if test == "all":
                print(f"{'start to ready; largest resident set':<44} {name:<13} {row['seconds_to_ready']:.2f} s; {row['resident_mib']:.0f} MiB")
                continue
            print(f"{test[:44]:<44} {name:<13} {cell(row, 'tokens_per_second', 1)} {cell(row, 'ttft_p50', 1e3)} {cell(row, 'ttft_p95', 1e3)} "
                  f"{cell(row, 'gap_p50', 1e3)} {cell(row, 'gap_p99', 1e3)} {row['failed']:>7.0f}"
                  + (f"   gap p99 {row['gap_ratio']:.2f}x that before" if "gap_ratio" in row else "")
                  + (f"   {row['speedup']:.2f}x the tokens/s without" if "speedup" in row else ""))
    print("times in milliseconds; medians of the runs")


PLOTTED = {"clients": ("{} clients", "115-token prompts"), "mixed": ("{} clients, 20..4000 tokens", "20..4000-token prompts")}


def plot(results, arguments):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot
    scenarios = [name for name in PLOTTED if name in arguments.only]
    figure, grid = pyplot.subplots(len(scenarios), 3, figsize=(13, 4 * len(scenarios)), squeeze=False)
    for scenario, axes in zip(scenarios, grid):
        label, prompts = PLOTTED[scenario]
        for axis, (key, title, scale) in zip(axes, (("tokens_per_second", "tokens/s", 1), ("ttft_p95", "time to first token p95, ms", 1e3),
                                                    ("gap_p99", "token gap p99, ms", 1e3))):
            for name, rows in results.items():
                counts = [count for count in arguments.clients if label.format(count) in rows]
                axis.plot(counts, [rows[label.format(count)][key] * scale for count in counts], marker="o", label=name)
            axis.set_title(f"{title} ({prompts})")
            axis.set_xlabel("clients")
            axis.set_xscale("log", base=2)
            axis.set_xticks(arguments.clients, arguments.clients)
            axis.set_ylim(bottom=0)
            axis.legend()
    figure.suptitle(f"{pathlib.Path(arguments.model).name}, 64 tokens out, medians of {arguments.runs} runs")
    figure.tight_layout()
    figure.savefig(arguments.plot, dpi=120)


def whole(least):
    def parse(text):
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is less than {least}")
        return value
    parse.__name__ = "whole number"
    return parse


def counts(text):
    values = [whole(1)(part) for part in text.split(",")]
    if sorted(set(values)) != values:
        raise argparse.ArgumentTypeError(f"{text} is not ascending")
    return values


def rate(text):
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value


def scenarios(text):
    names = text.split(",")
    for name in names:
        if name not in SCENARIOS:
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(SCENARIOS)}")
    return names


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="GGUF file")
    parser.add_argument("--ours", default=os.environ.get("INFERD_BUILD", str(ROOT / "build/release")) + "/bin", help="folder of inferd's programs")
    parser.add_argument("--peer", help="folder of llama-server")
    parser.add_argument("--runs", type=whole(1), default=3, help="turns of each server (%(default)s)")
    parser.add_argument("--clients", type=counts, default=[1, 4, 16, 50], help="numbers of clients (1,4,16,50)")
    parser.add_argument("--requests", type=whole(1), default=2, help="requests of each client (%(default)s)")
    parser.add_argument("--rate", type=rate, default=2, help="arrivals per second of the open loop (%(default)s)")
    parser.add_argument("--arrivals", type=whole(1), default=24, help="requests of the open loop (%(default)s)")
    parser.add_argument("--sequences", type=whole(1), default=16, help="what each server computes at once (%(default)s)")
    parser.add_argument("--context", type=whole(64), default=4608, help="tokens of a sequence (%(default)s)")
    parser.add_argument("--threads", type=whole(1), default=len(os.sched_getaffinity(0)), help="of each server (%(default)s)")
    parser.add_argument("--only", type=scenarios, default=list(SCENARIOS), help="some of " + ",".join(SCENARIOS))
    parser.add_argument("--json", help="file for all figures")
    parser.add_argument("--plot", help="PNG of the figures over the number of clients (needs matplotlib)")
    arguments = parser.parse_args()
    check(arguments, parser)
    return arguments


def check(arguments, parser):
    """What would fail only after a long run is told at once."""
    for name, path in (("MODEL", arguments.model), ("--ours", f"{arguments.ours}/inferd"),
                       ("--peer", arguments.peer is not None and f"{arguments.peer}/llama-server")):
        if path and not pathlib.Path(path).is_file():
            parser.error(f"{name}: there is no file {path}")
    for name, path in (("--json", arguments.json), ("--plot", arguments.plot)):
        if path and not os.access(pathlib.Path(path).resolve().parent, os.W_OK):
            parser.error(f"{name}: {pathlib.Path(path).resolve().parent} is no folder that can be written to")
    if arguments.plot and not set(PLOTTED) & set(arguments.only):
        parser.error(f"--plot shows the scenarios {' and '.join(PLOTTED)}, which --only leaves out")
    if arguments.plot and importlib.util.find_spec("matplotlib") is None:
        parser.error("--plot needs matplotlib: python3 -m venv ~/.cache/inferd/bench-venv && "
                     "~/.cache/inferd/bench-venv/bin/pip install matplotlib, and run this with its bin/python")


def main():
    arguments = parse_arguments()
    common = (arguments.model, arguments.sequences, arguments.context, arguments.threads)
    kinds = [lambda: servers.Inferd(arguments.ours, *common)]
    if arguments.peer:
        kinds.append(lambda: servers.LlamaServer(arguments.peer, *common))
    runs = {}
    for _ in range(arguments.runs):
        for kind in kinds:
            server = kind()
            try:
                runs.setdefault(server.name, []).append(measure(server, arguments))
            except (OSError, RuntimeError) as error:
                print(f"  {server.name}: {error}", file=sys.stderr)
            results = {name: medians(some) for name, some in runs.items() if some}
            if arguments.json:
                pathlib.Path(arguments.json).write_text(json.dumps({"runs": runs, "medians": results}, indent=1))
    if not results:
        sys.exit("no run was complete")
    print_table(results)
    if arguments.plot:
        plot(results, arguments)


if __name__ == "__main__":
    main()
