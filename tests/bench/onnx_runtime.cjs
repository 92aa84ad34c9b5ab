// Times one ONNX model of an attention: node onnx_runtime.cjs REQUEST, a JSON object with the folder that holds
// node_modules, the model's file, the shape of its three inputs, threads and seconds. Prints the median of its runs.
const path = require("path");
const { createRequire } = require("module");

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
  const count = request.shape.reduce((a, b) => a * b, 1);
  const random = () => {
    const numbers = new Float32Array(count);
    for (let i = 0; i < count; ++i) numbers[i] = 2 * Math.random() - 1;
    return new ort.Tensor("float32", numbers, request.shape);
  };
  const inputs = { query: random(), key: random(), value: random() };
  await session.run(inputs);
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
