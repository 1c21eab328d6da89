import type { DurableEvent } from "@postern/core";
import { beforeEach, expect, it } from "vitest";
import { aLogStore } from "../../../../test/fakes/log-store.ts";
import { sharedDocuments } from "../../../../test/fakes/shared-documents.ts";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import { CurrentPolicy, openPolicySet } from "../policy/current-policy.ts";
import { policyChanges } from "../policy/report/changes.ts";
import { type ReplacePolicy, SharedPolicy } from "../policy/shared-policy.ts";
import { openSharedPolicyFile, policyPartsReader, writtenPolicy } from "./shared-policy-file.ts";

const ada = { by: { by: "ada", via: "test" }, reason: "safer" };
const noFiles = () => Promise.reject(new Error("there is none"));
const deny = (tool: string) =>
  `autonomy: A1\npolicy:\n  # why\n  rules:\n    - { effect: deny, tool: ${tool}, id: ${tool} }\n`;
const named = (tool: string) => ({ name: "other.yaml", text: deny(tool) });

let clock: FakeClock;
let store: ReturnType<typeof aLogStore>;
let view: ReturnType<typeof sharedDocuments>;

beforeEach(() => {
  clock = new FakeClock();
  store = aLogStore(clock);
  view = sharedDocuments(store);
});

/** A gateway with a file of its own. */
async function gateway(text: string, fixed?: "A0") {
  const current = new CurrentPolicy(await openPolicySet({}, undefined));
  const logged: string[] = [];
  let made = 0;
  const replace: ReplacePolicy = async (next, record) => {
    made += 1;
    const { now } = current;
    const set = await openPolicySet(next, undefined);
    const difference = {
      before: current.version,
      after: set.policy.version,
      changes: policyChanges(now, set),
    };
    if (await record(difference)) current.replace(set);
    return difference;
  };
  const shared = new SharedPolicy({
    own: () => writtenPolicy({ name: "postern.yaml", text }, noFiles),
    read: policyPartsReader(fixed),
    log: (problem) => logged.push(problem),
  });
  await shared.open({ store: view(), clock, replace });
  const common = { shared, name: "postern.yaml", base: "/nowhere", redact: (given: string) => given };
  const file = openSharedPolicyFile({ ...common, mayEdit: true });
  const rules = () => ("decide" in current.now.given ? [] : (current.now.given.rules ?? []).map(({ id }) => id));
  return { shared, file, logged, rules, current, made: () => made };
}

it("makes the file of the first gateway the active policy, and a gateway with another file says so", async () => {
  const a = await gateway(deny("send"));
  const b = await gateway(deny("wipe"));
  expect([a.rules(), b.rules()]).toEqual([["send"], ["send"]]);
  expect(b.current.now.autonomy).toBe("A1");
  expect(a.logged).toEqual([]);
  expect(b.logged).toEqual([
    expect.stringMatching(/differs from the active one, .*`postern policy activate postern\.yaml`/),
  ]);
});

it("is followed by every gateway when one activates a file, and recorded once", async () => {
  const noted: DurableEvent[] = [];
  store.follow((entries) => noted.push(...entries.flatMap(({ event = [] }) => event)));
  const a = await gateway(deny("send"));
  const b = await gateway(deny("send"), "A0");
  const activated = await a.file.activate(named("wipe"), ada);
  expect(activated).toMatchObject({
    reloaded: true,
    changes: ["The rule `wipe` is added.", "The rule `send` is removed."],
  });
  await expect.poll(() => b.rules()).toEqual(["wipe"]);
  expect(b.current.version).toBe(a.current.version);
  expect([a.current.now.autonomy, b.current.now.autonomy]).toEqual(["A1", "A0"]); // a flag of its own start wins
  expect(noted).toMatchObject([
    { type: "operator.action.policy_replaced", by: "ada", data: { file: "other.yaml", reason: "safer" } },
  ]);
});

it("ends with one policy on all gateways when two activate at once", async () => {
  const [a, b] = [await gateway(deny("send")), await gateway(deny("send"))];
  await Promise.all([a.file.activate(named("one"), ada), b.file.activate(named("two"), ada)]);
  const { text } = await a.shared.active();
  const last = text.includes("one") ? ["one"] : ["two"];
  await expect.poll(() => [a.rules(), b.rules()]).toEqual([last, last]);
  expect((await a.shared.active()).version).toBe(3);
});

it("saves the text that people edit, only over the one they have read", async () => {
  const [a, b] = [await gateway(deny("send")), await gateway(deny("send"))];
  const { text, digest, line, whyNot } = await a.file.read();
  expect({ text, line, whyNot }).toEqual({
    text: deny("send").replace("autonomy: A1\n", ""),
    line: 2,
    whyNot: undefined,
  });
  const change = { text: text.replaceAll("send", "mail"), expectedDigest: digest, activate: ada };
  const saved = await a.file.save(change, async () => {});
  expect(saved).toMatchObject({ saved: true, name: "postern.yaml", activated: { restart: [] } });
  await expect.poll(() => b.rules()).toEqual(["mail"]);
  expect(b.current.now.autonomy).toBe("A1");
  expect(await b.file.save(change, async () => {})).toMatchObject({ saved: false, why: "policy_changed" });
  const { activate: _, ...without } = change;
  expect(await b.file.save(without, async () => {})).toMatchObject({ saved: false, why: "policy_not_editable" });
});

it("changes nothing on any gateway if the text has a mistake, which is named with its place", async () => {
  const [a, b] = [await gateway(deny("send")), await gateway(deny("send"))];
  const wrong = { name: "other.yaml", text: deny("x").replace("deny", "dny") };
  await expect(a.file.activate(wrong, ada)).rejects.toMatchObject({
    code: "policy_invalid",
    message: expect.stringContaining("other.yaml:5:17 policy.rules[0].effect"),
  });
  expect([a.rules(), b.rules(), (await a.shared.active()).version]).toEqual([["send"], ["send"], 1]);
  expect(await a.file.reload(ada)).toMatchObject({
    reloaded: false,
    message: expect.stringContaining("policy activate"),
  });
});

it("keeps its policy, and says so, when another gateway activates one that it cannot read", async () => {
  const a = await gateway(deny("send"));
  const text = "policy: { a_rule_of_the_future: true }\n";
  const newer = { ...(await a.shared.active()), text, version: 2 };
  await view().commit(
    { write: "document", kind: "policy", id: "active", expectedVersion: 1, body: JSON.parse(JSON.stringify(newer)) },
    "synced",
  );
  await expect
    .poll(() => a.logged)
    .toEqual([expect.stringMatching(/version 1 stays in force: .*a_rule_of_the_future/)]);
  expect(a.rules()).toEqual(["send"]);
});
