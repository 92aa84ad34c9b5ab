"""Times one ONNX model: onnx_runtime.py REQUEST, a JSON object with the model's file, threads, seconds, and the inputs: for each name
its shape and the file, the first byte and the end of its floats. With "output" it writes the result named "checked" there, with "all"
each result to a file of its name in that folder. Prints the median of its runs in seconds; with "once" the first run is the only one."""
import json
import os
import statistics
import sys
import time

import numpy
import onnxruntime


def session_of(request):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = request["threads"]
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    return onnxruntime.InferenceSession(request["model"], options, providers=["CPUExecutionProvider"])


def tensor(place):
    numbers = numpy.fromfile(place["file"], numpy.float32, (place["end"] - place["begin"]) // 4, offset=place["begin"])
    return onnxruntime.OrtValue.ortvalue_from_numpy(numbers.reshape(place["shape"]))


def main():
    request = json.loads(sys.argv[1])
    session = session_of(request)
    names = [output.name for output in session.get_outputs()]
    inputs = {name: tensor(place) for name, place in request["inputs"].items()}

    def timed():
        """Seconds of a run, and its results, which are not copied to arrays of NumPy."""
        begin = time.perf_counter()
        results = session.run_with_ort_values(names, inputs)
        return time.perf_counter() - begin, dict(zip(names, results))

    first, results = timed()
    if "output" in request:
        results[request["checked"]].numpy().tofile(request["output"])
    if "all" in request:
        for name, result in results.items():
            result.numpy().tofile(os.path.join(request["all"], name))
    del results
    taken = []
    while "once" not in request and (len(taken) < 3 or sum(taken) < request["seconds"]):
        taken.append(timed()[0])
    print(json.dumps({"seconds": statistics.median(taken or [first])}))


main()
