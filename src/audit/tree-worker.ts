/** The other end of growing-tree.ts: adds what it is sent, and tells its edge when asked. */
import { parentPort, workerData } from "node:worker_threads";
import { readEdge, Tree } from "./tree.ts";

const tree = new Tree(readEdge(workerData));

parentPort?.on("message", (sent: readonly string[] | "edge") => {
  if (sent === "edge") parentPort?.postMessage(tree.edge());
  else for (const body of sent) tree.append(body);
});
