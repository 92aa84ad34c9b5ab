// Times one ONNX model: node onnx_runtime.cjs REQUEST, a JSON object with the folder that holds node_modules, the model's
// file, threads, seconds, and the inputs: for each name its shape and the file, the first byte and the end of its floats.
// With "output" it writes the result named "checked" there, with "all" each result to a file of its name in that folder. Prints
// the median of its runs in seconds; with "once" the first run is the only one.
const fs = require("fs");
const path = require("path");
const { createRequire } = require("module");

function floats({ file, begin, end }) {
  const numbers = new Float32Array((end - begin) / 4);
  const bytes = Buffer.from(numbers.buffer);
  const opened = fs.openSync(file, "r");
  for (let at = 0; at < bytes.length; ) {
    const read = fs.readSync(opened, bytes, at, bytes.length - at, begin + at);
    if (read === 0) throw new Error(`${file} ends too early`);
    at += read;
  }
  fs.closeSync(opened);
  return numbers;
}

async function main() {
  const request = JSON.parse(process.argv[2]);
  const ort = createRequire(path.join(path.resolve(request.folder), "index.js"))("onnxruntime-node");
  const session = await ort.InferenceSession.create(request.model, {
    executionProviders: ["cpu"],
    intraOpNumThreads: request.threads,
    interOpNumThreads: 1,
    executionMode: "sequential",
    graphOptimizationLevel: "all",
  });
  const inputs = {};
  for (const [name, input] of Object.entries(request.inputs)) {
    inputs[name] = new ort.Tensor("float32", floats(input), input.shape);
  }
  const first = process.hrtime.bigint();
  const results = await session.run(inputs);
  const once = Number(process.hrtime.bigint() - first) * 1e-9;
  if (request.output) fs.writeFileSync(request.output, results[request.checked].data);
  if (request.all) {
    for (const [name, { data }] of Object.entries(results)) fs.writeFileSync(path.join(request.all, name), data);
  }
  if (request.once) return console.log(JSON.stringify({ seconds: once }));
  const seconds = [];
  for (let total = 0; seconds.length < 3 || total < request.seconds; total += seconds[seconds.length - 1]) {
    const start = process.hrtime.bigint();
    await session.run(inputs);
    seconds.push(Number(process.hrtime.bigint() - start) * 1e-9);
  }
  seconds.sort((a, b) => a - b);
  console.log(JSON.stringify({ seconds: seconds[Math.floor(seconds.length / 2)] }));
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
