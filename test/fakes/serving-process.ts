/** Creates a runtime with the servers in its first argument (JSON), says `ready`, and waits to be killed. */
import { createRuntime } from "../../packages/postern/src/index.ts";

const runtime = await createRuntime({ servers: JSON.parse(process.argv[2] ?? "{}") });
process.stdout.write(
  `ready ${runtime
    .health()
    .servers.map(({ status }) => status)
    .join()}\n`,
);
setInterval(() => {}, 1_000);
