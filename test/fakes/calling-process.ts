/** Creates a runtime with the options in its first argument (JSON), and makes the call in its second one for `ada`. */
import { createRuntime } from "../../packages/postern/src/index.ts";

const [options = "{}", call = "{}"] = process.argv.slice(2);
const runtime = await createRuntime(JSON.parse(options));
const principal = { tenant: "default", user: "ada", agent: "helper" };
const { text } = await runtime.invoke(JSON.parse(call), { principal });
process.stdout.write(`${text}\n`);
await runtime.close(0);
