"""Holds attn-cli against the libraries whose numbers it gives: oracle.py ATTN_CLI [--draws N] [--seed S] [--table] [NAME…]

A NAME is an oracle (models, classifiers, documents, onnx_nodes, tokenizers_texts, tokenizer_folders, gguf_numbers, gguf_models, pictures) or what one of them draws (llama, transformer, Q4_K …).
What the program's own tables have and no oracle compares is a failure.
"""
import argparse, collections, concurrent.futures, importlib, multiprocessing, os, random, sys, tempfile, time, warnings

os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "TOKENIZERS_PARALLELISM": "false"}
warnings.filterwarnings("ignore")
import program

# Of each oracle, a module: how many draws of each of its names make one of --draws; ONNX has as many as there are.
ORACLES = {"models": 1, "classifiers": 1, "documents": 1, "onnx_nodes": 10_000, "tokenizers_texts": 1, "tokenizer_folders": 3, "gguf_numbers": 1, "gguf_models": 1, "pictures": 1}

def held(given, oracle, name):
    """The counts of a name's draws, what was left out and why, and a line for each that differs."""
    program.path = given.cli
    module = importlib.import_module(oracle)
    count, left, lines = collections.Counter(), collections.Counter(), []
    for draw in range(given.draws * ORACLES[oracle]):
        draw += given.seed * 100_000
        with tempfile.TemporaryDirectory() as folder:
            options = {}
            try:
                wrong = module.hold(name, draw, random.Random(f"{oracle} {name} {draw}"), folder, options)
            except program.Refused as refused:
                wrong = f"refused: {refused}"
            except StopIteration:
                break
            except Exception as error:
                wrong = f"the library: {type(error).__name__}: {str(error)[:300]}"
            if wrong and given.keep:
                os.system(f"mkdir -p {given.keep} && cp -r {folder} {given.keep}/{name}_{draw}")
        if wrong.startswith("left out"):
            left[wrong] += 1
            count["left out"] += 1
            continue
        count["failed" if wrong else "passed"] += 1
        if wrong:
            lines.append(f"{oracle} {name} {draw}: {wrong}" + (f"\n  {options}" if options else ""))
    return count, left, lines

def chosen(given, counts):
    """The oracles and names that were asked for; what the program's tables have besides counts as failed."""
    for oracle in ORACLES:
        if given.names and not any(name == oracle or name not in ORACLES for name in given.names):
            continue
        module = importlib.import_module(oracle)
        whole = not given.names or oracle in given.names
        for table, names in (getattr(module, "in_program", dict)() if whole else {}).items():
            for name in names:
                if name not in module.NAMES and name not in getattr(module, "ELSEWHERE", ()):
                    print(f"{oracle}: {name}, of the {table}, is compared with nothing")
                    counts[oracle, name]["failed"] += 1
        for name in module.NAMES:
            if whole or name in given.names:
                yield oracle, name

def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cli", type=os.path.abspath)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--draws", type=int, default=10, help="of each family, kind, type … (10)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes, each for a name at a time (one per processor)")
    parser.add_argument("--table", action="store_true", help="print a line of the summary for each name")
    parser.add_argument("--keep", help="folder in which what differs is left")
    given = parser.parse_intermixed_args()
    program.path = given.cli
    begun, counts, left = time.time(), collections.defaultdict(collections.Counter), collections.Counter()
    # Libraries are read before the processes part, which share them; none has begun a thread by then.
    drawn = list(chosen(given, counts))
    with concurrent.futures.ProcessPoolExecutor(given.jobs, multiprocessing.get_context("fork")) as processes:
        results = [(oracle, name, processes.submit(held, given, oracle, name)) for oracle, name in drawn]
        for oracle, name, result in results:
            count, reasons, lines = result.result()
            counts[oracle, name] += count
            left.update({(oracle, name, why): number for why, number in reasons.items()})
            for line in lines:
                print(line, flush=True)
    for (oracle, name, why), count in left.items():
        print(f"{oracle} {name}: {why} ({count})")
    report(counts, given.table, time.time() - begun)
    return any(count["failed"] for count in counts.values())

def report(counts, each, seconds):
    if each:
        for (oracle, name), count in counts.items():
            print(f"| {oracle} | {name} | {count['passed']} | {count['failed']} | {count['left out']} |")
    for oracle in ORACLES:
        own = [count for (of, _), count in counts.items() if of == oracle]
        if own:
            all = sum(own, collections.Counter())
            print(f"{oracle}: {len(own)} names, {all['passed']} equal, {all['failed']} not, {all['left out']} left out")
    all = sum(counts.values(), collections.Counter())
    print(f"{seconds:.0f} s\n{all['passed']} passed, {all['failed']} failed, {all['left out']} skipped")

if __name__ == "__main__":
    sys.exit(main())
