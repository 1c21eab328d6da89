/** A script on an engine that cannot be frozen waits for a person; it is run again and makes the same requests. */
import { afterAll, expect, it } from "vitest";
import { CpythonDriver } from "../../packages/engines/src/cpython/cpython.ts";
import { asker, boss } from "../fakes/runtime-fixture.ts";
import { resultOf, scriptFixture } from "../fakes/script-fixture.ts";

const driver = new CpythonDriver({ warm: 1 });
const missing = await driver.unavailable();

afterAll(() => driver[Symbol.asyncDispose]());

const code = `import random, secrets, time, uuid
from datetime import datetime
class Report: pass
tools.echo(to=datetime.now().isoformat())
parts = [datetime.now(), time.time(), random.random(), uuid.uuid4(), secrets.token_hex(4), {"a", "b", "c", "d"}, hash("a"), Report()]
sent = tools.mail(to="ann", body=" ".join(str(part) for part in parts))
[sent.text, datetime.now().isoformat(timespec="minutes")]`;

it.skipIf(missing !== undefined)(
  "the time, random values, sets and objects in a waiting call are equal later, and it runs once",
  async () => {
    await using h = await scriptFixture({}, driver);
    const begun = new Date(h.clock.now()).toISOString();
    const script = { code, language: "python" } as const;
    const pending = await h.runtime.runChain(script, asker);
    expect(pending).toMatchObject({ status: "pending" });
    await h.clock.advance(240_000);
    await h.runtime.approvals.decide(pending.approvalId ?? "", { decision: "approved", by: boss });
    const done = resultOf(await h.runtime.runChain(script, asker));
    expect(done).toMatchObject({ status: "ok", tool_calls: 2, error: null });
    expect(h.ran).toHaveLength(2);
    const [{ to: first } = { to: "" }, { body: mail } = { body: "" }] = h.ran;
    expect(String(first).slice(0, 16)).toBe(begun.slice(0, 16));
    expect(mail).toContain(begun.slice(0, 10));
    expect(done["output_text"]).toContain(begun.slice(0, 16)); // its clock began when it was first sent
  },
  120_000,
);
