/** Settings become a runtime with its doors. It knows every part a command may need, and loads what these settings name. */
import { dirname, join } from "node:path";
import type { OpenIdSignIn } from "./accounts/accounts.ts";
import type { Approver } from "./approvals/approver.ts";
import { SystemClock } from "./calls/clock.ts";
import { messageOf } from "./calls/fault.ts";
import type { PolicyFileOptions } from "./config/policy-file.ts";
import type { Settings } from "./config/settings.ts";
import { withoutValues } from "./doors/cli/command-name.ts";
import type { InsideNeeds } from "./doors/cli/host.ts";
import type { Log } from "./doors/cli/log.ts";
import type { HttpDoor } from "./doors/http/http-door.ts";
import type { McpDoor } from "./doors/mcp/mcp-door.ts";
import type { PolicyFile } from "./doors/policy-file.ts";
import type { PolicyReader } from "./doors/policy-reader.ts";
import type { Runtime } from "./face.ts";
import type { RuntimeOptions } from "./options.ts";
import type { Redactor, SecretStore } from "./secrets/secret-store.ts";
import type { MemoryHouse, OpenMemory } from "./tools/builtin/memory/open-memory.ts";

const clock = new SystemClock();
/** What calls in flight get before they are aborted. */
export const drainMs = 10_000;

/** The configuration's code is loaded when somebody asks. */
function policyReader(
  { file, console: { editPolicy: mayEdit } }: Pick<Settings, "file" | "console">,
  redactor: Redactor,
): PolicyReader {
  const base = file === undefined ? process.cwd() : dirname(file);
  return {
    policy: async (text) => (await import("./config/policy-text.ts")).readPolicyText(text, base),
    tests: async (text) => (await import("./config/policy-text.ts")).readTestsText(text),
    ...(file !== undefined && { file: policyFile({ file, mayEdit, clock, redact: (text) => redactor.redact(text) }) }),
  };
}

function policyFile(options: PolicyFileOptions): PolicyFile {
  let opened: Promise<PolicyFile> | undefined;
  const open = (): Promise<PolicyFile> => {
    opened ??= import("./config/policy-file.ts").then(({ openPolicyFile }) => openPolicyFile(options));
    return opened;
  };
  return {
    read: async () => (await open()).read(),
    save: async (change, tell) => (await open()).save(change, tell),
  };
}

/** A runtime with its doors, not yet listening. */
export interface Wired {
  readonly runtime: Runtime;
  readonly door: HttpDoor;
  readonly mcp: McpDoor;
  /** Set once the port is known. */
  hosts: readonly string[];
  close(): Promise<void>;
}

export async function wire(settings: Settings, needs: InsideNeeds, log: Log, version: string): Promise<Wired> {
  const [
    { createRuntime },
    { openCredentials },
    { createHttpDoor },
    { consoleFiles },
    { buildConsole },
    { createMcpDoor },
    { createRedactor },
    { openSecrets },
  ] = await Promise.all([
    import("./create.ts"),
    import("./doors/credentials.ts"),
    import("./doors/http/http-door.ts"),
    import("./doors/http/console-files.ts"),
    import("./doors/http/console-build.ts"),
    import("./doors/mcp/mcp-door.ts"),
    import("./secrets/redactor.ts"),
    import("./secrets/open-secrets.ts"),
  ]);
  const credentials = await openCredentials(settings.dataFolder, {
    agentScopes: settings.agentScopes,
  });
  for (const notice of credentials.notices) log.problem(notice);
  const redactor = createRedactor();
  const secrets = settings.secrets ?? (await openSecrets(settings.secretSettings, redactor));
  const memory = await memoryOf(settings, redactor, (digest, by) => runtime.artifacts.open(digest, by));
  const runtime = await createRuntime({
    ...(needs.tools ? await toolsOf(settings, [...(memory?.tools ?? []), ...(await filesOf(settings))], log) : {}),
    redactor,
    store: `sqlite:${join(settings.dataFolder, "postern.db")}`,
    folder: settings.dataFolder,
    policy: settings.policy,
    guardrails: settings.guardrails,
    autonomy: settings.autonomy,
    limits: settings.limits,
    audit: settings.audit,
    results: settings.results,
    ...(needs.tools && settings.skillFolders.length > 0 && { skills: { folders: settings.skillFolders } }),
    ...(needs.tools && settings.chains !== undefined && { chains: settings.chains }),
    accounts: { sessions: settings.accounts.sessions },
    approvals: approvalsOf(settings, needs.approver),
    ...(await archiveOf(settings)),
    ...(needs.channels === true && settings.channels !== undefined && { channels: channelsOf(settings, () => wired) }),
    ...(settings.hooks !== undefined && { hooks: settings.hooks }),
    secrets,
    secretPatterns: settings.secretSettings.patterns,
    clock,
    log: (problem) => log.problem(problem),
  });
  const around = memory?.wayAround(runtime.offered({ tenant: "default", agent: "local-agent" }));
  if (around !== undefined) log.problem(around);
  const { command = "postern" } = needs;
  const mcp = createMcpDoor({ runtime, name: "postern", version, command });
  const door = createHttpDoor({
    runtime,
    credentials,
    hosts: () => wired.hosts,
    clock,
    memory: memory?.desk,
    accounts: runtime.accounts,
    openId: await openIdOf(settings, secrets, redactor),
    publicUrl: settings.listen.publicUrl,
    learnSecret: learner(secrets, log),
    command: { ofTheHouse: command, ofAnybody: withoutValues(command) },
    policies: policyReader(settings, redactor),
    mcp: (request, by, path) => mcp.handle(request, by, path),
    page: consoleFiles({ prepare: buildConsole }),
    log: (message, fields) => log.problem(redactor.redact(`${message} ${JSON.stringify(fields)}`)),
  });
  const close = async (): Promise<void> => {
    await runtime.close(drainMs);
    await Promise.all([mcp.close(), door.close()]);
    memory?.close();
  };
  const wired: Wired = { runtime, door, mcp, hosts: [], close };
  return wired;
}

/** A store tells the redactor what it gives: to ask is to have it masked. */
function learner(secrets: SecretStore, log: Log): (connector: string, key: string) => Promise<void> {
  return async (connector, key) => {
    await secrets.get(connector, key).catch((error: unknown) => {
      log.problem(`A secret was set, and is masked from its first loan only: ${messageOf(error)}`);
    });
  };
}

/** The provider's package is loaded when somebody signs in there. */
async function openIdOf(
  { accounts: { openId } }: Settings,
  secrets: SecretStore,
  redactor: Redactor,
): Promise<OpenIdSignIn | undefined> {
  if (openId === undefined) return undefined;
  const [{ OpenId }, { withSecrets }, { learnNamed }] = await Promise.all([
    import("./accounts/openid.ts"),
    import("./secrets/secret-reference.ts"),
    import("./secrets/lend.ts"),
  ]);
  const resolve = (text: string): Promise<string> =>
    withSecrets(text, async (connector, key) => {
      const value = (await secrets.get(connector, key)).reveal();
      learnNamed(redactor, value, `${connector}/${key}`);
      return value;
    });
  return new OpenId(openId, { clock, resolve });
}

async function toolsOf(
  settings: Settings,
  builtin: Settings["tools"],
  log: Log,
): Promise<{ readonly tools: Settings["tools"]; readonly servers: Settings["servers"] }> {
  const { loadToolFolders, loadToolModules } = await import("./config/tool-modules.ts");
  const { file = "", toolModules, toolFolders, servers } = settings;
  const modules = await loadToolModules(toolModules, file);
  const found = await loadToolFolders(toolFolders, file, (problem) => log.problem(problem));
  return { tools: [...settings.tools, ...modules, ...found, ...builtin], servers };
}

/** What Postern keeps is out of their reach, and what it is configured by they cannot change. */
async function filesOf(settings: Settings): Promise<Settings["tools"]> {
  const { files, file, dataFolder: folder, runs, toolModules, toolFolders, skillFolders, secretSettings } = settings;
  if (files === undefined) return [];
  const [{ fileTools }, { openRunFolders }] = await Promise.all([
    import("./tools/builtin/files/files.ts"),
    import("./watchers/archive/folders.ts"),
  ]);
  return fileTools({
    ...files,
    ...(runs.enabled && { runs: openRunFolders(runs.folder) }),
    outOfReach: [folder, runs.folder, secretSettings.file, secretSettings.keyFile],
    notWritable: [...(file === undefined ? [] : [file]), ...toolModules, ...toolFolders, ...skillFolders],
  });
}

/** Links in messages lead to where people reach the console: said by the operator, else this machine. */
function channelsOf({ channels = {}, listen }: Settings, wired: () => Wired): NonNullable<RuntimeOptions["channels"]> {
  const here = (): string | undefined => {
    const [host] = wired().hosts;
    return listen.publicUrl?.replace(/\/+$/, "") ?? (host === undefined ? undefined : `http://${host}`);
  };
  return { consoleUrl: here, ...channels };
}

async function archiveOf(settings: Settings): Promise<Pick<RuntimeOptions, "archive">> {
  const { enabled, folder } = settings.runs;
  if (!enabled) return {};
  const { configSnapshot } = await import("./config/snapshot.ts");
  return { archive: { folder, config: configSnapshot(settings) } };
}

async function memoryOf(
  { memory, dataFolder: folder, runs }: Settings,
  redactor: Redactor,
  openArtifact: MemoryHouse["openArtifact"],
): Promise<OpenMemory | undefined> {
  if (memory === undefined) return undefined;
  const [{ openMemory }, { openRunFolders }] = await Promise.all([
    import("./tools/builtin/memory/open-memory.ts"),
    import("./watchers/archive/folders.ts"),
  ]);
  return openMemory(memory, { folder, runs: openRunFolders(runs.folder), clock, redactor, openArtifact });
}

function approvalsOf(
  { approvals }: Settings,
  approver: Approver | undefined,
): Settings["approvals"] & { readonly approver?: Approver } {
  return approver === undefined ? approvals : { ...approvals, approver };
}
