/** Settings become a runtime with its doors. It knows every part a command may need, and loads what these settings name. */
import { dirname, join } from "node:path";
import type { Approver } from "../approvals/approver.ts";
import type { FileToolOptions } from "../builtin/files/files.ts";
import type { FileSettings } from "../builtin/files/files-config.ts";
import type { MemoryContext, OpenMemory } from "../builtin/memory/open-memory.ts";
import type { PolicyFileOptions } from "../config/policy-file.ts";
import type { Settings } from "../config/settings.ts";
import type { RejectedTool } from "../config/tool-modules.ts";
import { SystemClock } from "../core/clock.ts";
import { messageOf } from "../core/fault.ts";
import { serverInlineBytes } from "../core/session.ts";
import type { OpenIdSignIn } from "../identity/accounts.ts";
import type { McpGateway } from "../mcp/server/mcp-server.ts";
import type { Runtime } from "../runtime/api.ts";
import type { RuntimeOptions } from "../runtime/options.ts";
import type { Redactor, SecretStore } from "../secrets/secret-store.ts";
import type { HttpServer, HttpServerOptions } from "../server/http/http-server.ts";
import type { EditablePolicyFile } from "../server/policy-file.ts";
import type { PolicyReader } from "../server/policy-reader.ts";
import { withoutValues } from "./command-name.ts";
import type { InsideNeeds } from "./host.ts";
import type { Log } from "./log.ts";

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
    policy: async (text) => (await import("../config/policy-text.ts")).readPolicyText(text, base),
    tests: async (text) => (await import("../config/policy-text.ts")).readTestsText(text),
    ...(file !== undefined && { file: policyFile({ file, mayEdit, clock, redact: (text) => redactor.redact(text) }) }),
  };
}

function policyFile(options: PolicyFileOptions): EditablePolicyFile {
  let opened: Promise<EditablePolicyFile> | undefined;
  const open = (): Promise<EditablePolicyFile> => {
    opened ??= import("../config/policy-file.ts").then(({ openPolicyFile }) => openPolicyFile(options));
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
  readonly door: HttpServer;
  readonly mcp: McpGateway;
  /** Set once the port is known. */
  hosts: readonly string[];
  /** Tells what is wrong with what agents are offered now, servers' tools included. */
  checkOffer(): void;
  close(): Promise<void>;
}

/** What the parts of one Postern share. */
interface Shared {
  readonly settings: Settings;
  readonly needs: InsideNeeds;
  readonly log: Log;
  readonly redactor: Redactor;
  readonly secrets: SecretStore;
  readonly memory: OpenMemory | undefined;
  /** Tools of `tools.folders` that cannot be offered, once they are loaded. */
  readonly rejected: RejectedTool[];
  /** Where it listens: empty until then. */
  readonly hosts: () => readonly string[];
}

export async function wire(
  settings: Settings,
  needs: InsideNeeds,
  { log, version }: { readonly log: Log; readonly version: string },
): Promise<Wired> {
  const [{ createRuntime }, { openCredentials }, { createRedactor }, { openSecrets }] = await Promise.all([
    import("../runtime/create.ts"),
    import("../server/credentials.ts"),
    import("../secrets/redactor.ts"),
    import("../secrets/open-secrets.ts"),
  ]);
  const credentials = await openCredentials(settings.dataFolder, { agentScopes: settings.agentScopes });
  for (const notice of credentials.notices) log.problem(notice);
  const redactor = createRedactor();
  const secrets = settings.secrets ?? (await openSecrets(settings.secretSettings, redactor));
  const memory = await memoryOf(settings, redactor, (digest, by) => runtime.artifacts.open(digest, by));
  const shared: Shared = { settings, needs, log, redactor, secrets, memory, rejected: [], hosts: () => wired.hosts };
  const runtime = await createRuntime(await optionsOf(shared));
  const checkOffer = (): void => {
    const around = memory?.warningFor(runtime.offered({ tenant: "default", agent: "local-agent" }));
    if (around !== undefined) log.problem(around);
  };
  if (needs.servesAtOnce !== true) checkOffer();
  const mcp = await mcpDoorOf(runtime, shared, version);
  const door = await httpDoorOf({ runtime, credentials, mcp }, shared);
  const close = async (): Promise<void> => {
    await runtime.close(drainMs);
    await Promise.all([mcp.close(), door.close()]);
    memory?.close();
  };
  const wired: Wired = { runtime, door, mcp, hosts: [], checkOffer, close };
  return wired;
}

async function optionsOf(shared: Shared): Promise<RuntimeOptions> {
  const { settings, needs, log, redactor, secrets } = shared;
  const { dataFolder: folder, policy, guardrails, autonomy, audit, results, channels, hooks } = settings;
  const limits = { maxInlineResultBytes: serverInlineBytes, ...settings.limits };
  const tellsPeople = needs.channels === true && channels !== undefined;
  return {
    ...{ folder, policy, guardrails, autonomy, limits, audit, results },
    ...(needs.tools && (await toolsOf(shared))),
    ...(needs.servesAtOnce === true && { serverWaitMs: 0 }),
    ...(await archiveOf(settings)),
    ...(tellsPeople && { channels: { ...channels, consoleUrl: consoleAt(shared) } }),
    ...(hooks !== undefined && { hooks }),
    store: `sqlite:${join(folder, "postern.db")}`,
    accounts: { sessions: settings.accounts.sessions },
    approvals: approvalsOf(settings, needs.approver),
    secretPatterns: settings.secretSettings.patterns,
    ...{ redactor, secrets, clock },
    log: (problem) => log.problem(problem),
  };
}

async function mcpDoorOf(runtime: Runtime, shared: Shared, version: string): Promise<McpGateway> {
  const { createMcpGateway } = await import("../mcp/server/mcp-server.ts");
  return createMcpGateway({ runtime, name: "postern", version, console: consoleAt(shared) });
}

async function httpDoorOf(
  { runtime, credentials, mcp }: Pick<HttpServerOptions, "runtime" | "credentials"> & { readonly mcp: McpGateway },
  { settings, needs, log, redactor, secrets, memory, rejected, hosts }: Shared,
): Promise<HttpServer> {
  const [{ createHttpDoor }, { consoleFiles }, { buildConsole }] = await Promise.all([
    import("../server/http/http-server.ts"),
    import("../server/http/console-files.ts"),
    import("../server/http/console-build.ts"),
  ]);
  const { command = "postern" } = needs;
  return createHttpDoor({
    ...{ runtime, credentials, hosts, clock },
    memory: memory?.candidates,
    rejected,
    accounts: runtime.accounts,
    openId: await openIdOf({ settings, needs, log, redactor, secrets }),
    publicUrl: settings.listen.publicUrl,
    learnSecret: learner(secrets, log),
    command: { ofTheHouse: command, ofAnybody: withoutValues(command) },
    policies: policyReader(settings, redactor),
    mcp: (request, by, path) => mcp.handle(request, by, path),
    page: consoleFiles({ prepare: buildConsole, command: withoutValues(command) }),
    log: (message, fields) => log.problem(redactor.redact(`${message} ${JSON.stringify(fields)}`)),
  });
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
async function openIdOf({
  settings,
  needs,
  log,
  secrets,
  redactor,
}: Omit<Shared, "memory" | "hosts" | "rejected">): Promise<OpenIdSignIn | undefined> {
  const { openId } = settings.accounts;
  if (openId === undefined) return undefined;
  const [{ OpenId, missingPackage }, { withSecrets }, { revealer }] = await Promise.all([
    import("../identity/openid.ts"),
    import("../secrets/secret-reference.ts"),
    import("../secrets/lend.ts"),
  ]);
  const resolve = (text: string): Promise<string> => withSecrets(text, revealer({ secrets, redactor }));
  const missing = needs.tools ? missingPackage() : undefined; // `start` and `doctor`, not each command that reads a list
  if (missing !== undefined)
    log.problem(`\`accounts.openid\` is configured, but nobody can sign in with it. ${missing}`);
  return new OpenId(openId, { clock, resolve });
}

/** What agents may call. */
async function toolsOf({
  settings,
  memory,
  log,
  rejected,
}: Shared): Promise<Pick<RuntimeOptions, "tools" | "servers" | "skills" | "chains">> {
  const [{ loadToolFolders, loadToolModules }, { readArtifact, readArtifactName }] = await Promise.all([
    import("../config/tool-modules.ts"),
    import("../builtin/read-artifact.ts"),
  ]);
  const {
    file = "",
    tools,
    toolModules,
    toolFolders,
    servers,
    skillFolders: folders,
    skillAgents: agents,
    chains,
  } = settings;
  const reject = (tool: string, why: string): void => {
    log.problem(why);
    rejected.push({ tool, why });
  };
  const own = [...(memory?.tools ?? []), ...(await filesOf(settings)), ...(await providedOf(settings, reject))];
  const modules = await loadToolModules(toolModules, file);
  const others = [...tools, ...modules, ...own];
  const found = await loadToolFolders(toolFolders, file, { others, warn: (problem) => log.problem(problem) });
  rejected.push(...found.rejected);
  const all = [...tools, ...modules, ...found.tools, ...own];
  const reads = all.some((tool) => "name" in tool && tool.name === readArtifactName) ? [] : [readArtifact];
  return {
    tools: [...all, ...reads],
    servers,
    ...((folders.length > 0 || Object.keys(agents).length > 0) && { skills: { folders, agents } }),
    ...(chains !== undefined && { chains }),
  };
}

/** What Postern keeps is out of their reach, and what it is configured by they cannot change. */
async function filesOf(settings: Settings): Promise<Settings["tools"]> {
  if (settings.files === undefined) return [];
  const { fileTools } = await import("../builtin/files/files.ts");
  return fileTools(await guarded(settings.files, settings));
}

/** Tools that providers define and that run here, on the same roots. */
async function providedOf(settings: Settings, reject: (tool: string, why: string) => void): Promise<Settings["tools"]> {
  const { files, ...provided } = settings.provided;
  if (Object.values(provided).every((one) => one === undefined || one === false)) return [];
  const { openProvided } = await import("../builtin/provided/open-provided.ts");
  const memories = join(settings.dataFolder, "memories");
  return openProvided(provided, { files: await guarded(files, settings), memories, reject });
}

async function guarded(files: FileSettings, settings: Settings): Promise<FileToolOptions> {
  const { file, dataFolder: folder, runs, toolModules, toolFolders, skillFolders, secretSettings } = settings;
  const { openRunFolders } = await import("../observe/runs/folders.ts");
  return {
    ...files,
    ...(runs.enabled && { runs: openRunFolders(runs.folder) }),
    outOfReach: [folder, runs.folder, secretSettings.file, secretSettings.keyFile],
    notWritable: [...(file === undefined ? [] : [file]), ...toolModules, ...toolFolders, ...skillFolders],
  };
}

/** Where people reach the console: said by the operator, else this machine, once it listens. */
function consoleAt({ settings: { channels = {}, listen }, hosts }: Shared): () => string | undefined {
  return () => {
    const { consoleUrl = listen.publicUrl } = channels;
    const said = typeof consoleUrl === "function" ? consoleUrl() : consoleUrl;
    const [host] = hosts();
    return said?.replace(/\/+$/, "") ?? (host === undefined ? undefined : `http://${host}`);
  };
}

async function archiveOf(settings: Settings): Promise<Pick<RuntimeOptions, "archive">> {
  const { enabled, folder } = settings.runs;
  if (!enabled) return {};
  const { configSnapshot } = await import("../config/snapshot.ts");
  return { archive: { folder, config: configSnapshot(settings) } };
}

async function memoryOf(
  { memory, dataFolder: folder, runs }: Settings,
  redactor: Redactor,
  openArtifact: MemoryContext["openArtifact"],
): Promise<OpenMemory | undefined> {
  if (memory === undefined) return undefined;
  const [{ openMemory }, { openRunFolders }] = await Promise.all([
    import("../builtin/memory/open-memory.ts"),
    import("../observe/runs/folders.ts"),
  ]);
  return openMemory(memory, { folder, runs: openRunFolders(runs.folder), clock, redactor, openArtifact });
}

function approvalsOf(
  { approvals }: Settings,
  approver: Approver | undefined,
): Settings["approvals"] & { readonly approver?: Approver } {
  return approver === undefined ? approvals : { ...approvals, approver };
}
