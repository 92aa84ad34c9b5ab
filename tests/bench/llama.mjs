// Times llama.cpp: node llama.mjs REQUEST, a JSON object with the folder that holds node_modules, the model's file, the ids of the
// prompt, the number of tokens and of threads. Prints the seconds of the prompt and the tokens, and their ids.
import path from "path";
import { pathToFileURL } from "url";

const request = JSON.parse(process.argv[2]);
const entry = path.join(request.folder, "node_modules", "node-llama-cpp", "dist", "index.js");
const { getLlama } = await import(pathToFileURL(entry));
const llama = await getLlama({ gpu: false, build: "never", logLevel: "error", maxThreads: request.threads });
const model = await llama.loadModel({ modelPath: request.model });
const context = await model.createContext({ contextSize: request.prompt.length + request.tokens + 8, threads: request.threads });
const sequence = context.getSequence();
const ids = [];
const begin = performance.now();
for await (const id of sequence.evaluate(request.prompt, { temperature: 0, yieldEogToken: true })) {
  if (ids.push(id) === request.tokens) break;
}
console.log(JSON.stringify({ seconds: (performance.now() - begin) / 1000, ids }));
process.exit(0);
