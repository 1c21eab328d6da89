/** Settings become a runtime with its servers. Loads only the optional parts that the settings name. */
import { basename, dirname, join } from "node:path";
import { messageOf, readArtifactName, SystemClock } from "@postern/core";
import type { FileToolOptions } from "../../builtin/files/files.ts";
import type { FileSettings } from "../../builtin/files/files-config.ts";
import type { OpenMemory } from "../../builtin/memory/open-memory.ts";
import { readArtifact } from "../../builtin/read-artifact.ts";
import { serverInlineBytes } from "../../call/session.ts";
import { textIn } from "../../config/load.ts";
import { openPolicyFile } from "../../config/policy-file.ts";
import { PolicyInForce } from "../../config/policy-in-force.ts";
import { configurationText, isCode, readPolicyText, readTestsText } from "../../config/policy-text.ts";
import type { Settings } from "../../config/settings.ts";
import { openSharedPolicyFile, policyPartsReader, writtenPolicy } from "../../config/shared-policy-file.ts";
import { configSnapshot } from "../../config/snapshot.ts";
import { loadToolFolders, loadToolModules, type RejectedTool } from "../../config/tool-modules.ts";
import type { OpenIdSignIn } from "../../identity/accounts.ts";
import type { ResourceServer } from "../../identity/resource-server.ts";
import { createMcpGateway, type McpGateway } from "../../mcp/server/mcp-server.ts";
import { openRunFolders } from "../../observe/runs/folders.ts";
import { SharedPolicy } from "../../policy/shared-policy.ts";
import type { Runtime } from "../../runtime/api/api.ts";
import type { RuntimeOptions } from "../../runtime/options/options.ts";
import { openRuntime } from "../../runtime/runtime.ts";
import { sealedStoreOf } from "../../runtime/sealed-store.ts";
import { learnAhead, revealer } from "../../secrets/lend.ts";
import { openSecrets } from "../../secrets/open-secrets.ts";
import { createRedactor } from "../../secrets/redactor.ts";
import { withSecrets } from "../../secrets/secret-reference.ts";
import type { Redactor, SecretStore } from "../../secrets/secret-store.ts";
import { openCredentials } from "../../server/credentials.ts";
import { buildConsole } from "../../server/http/console-build.ts";
import { consoleFiles } from "../../server/http/console-files.ts";
import { createHttpServer, type HttpServer, type HttpServerOptions } from "../../server/http/http-server.ts";
import type { EditablePolicyFile, PolicyReader } from "../../server/policy-reader.ts";
import type { SealedStore } from "../../store/sealed-documents.ts";
import { agentsPackage } from "../agents-package.ts";
import { withoutValues } from "../command-name.ts";
import type { InsideNeeds } from "../host.ts";
import type { Log } from "./log.ts";

const clock = new SystemClock();
/** How long calls in flight may run after a stop before they are aborted. */
export const drainMs = 10_000;

/** A runtime with its servers, not yet listening. */
export interface Wired {
  readonly runtime: Runtime;
  readonly server: HttpServer;
  readonly mcp: McpGateway;
  readonly policies: PolicyReader;
  /** Set once the port is known. */
  hosts: readonly string[];
  /** Logs what is wrong with the tools that agents are offered now. */
  checkOffer(): void;
  /** Answers until running calls are over; then `stopListening`, and last the store is closed. */
  close(stopListening?: () => Promise<void>): Promise<void>;
}

/** What the parts of one Postern are made from. */
interface WiringParts {
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
  const { dataFolder: folder, agentScopes } = settings;
  const credentials = await openCredentials(folder, { agentScopes });
  for (const notice of credentials.notices) log.problem(notice);
  const redactor = createRedactor();
  const secrets = settings.secrets ?? (await openSecrets(settings.secretSettings, redactor));
  const memory = await memoryOf(settings, redactor, () => runtime);
  const parts: WiringParts = {
    settings,
    needs,
    log,
    redactor,
    secrets,
    memory,
    rejected: [],
    hosts: () => wired.hosts,
  };
  const shared = sharedPolicyOf(parts);
  const runtime = await openRuntime(await optionsOf(parts), shared);
  const mcp = createMcpGateway({ runtime, name: "postern", version, console: consoleAt(parts) });
  const policies = policyReader(parts, runtime, shared);
  const served = { runtime, credentials, mcp, policies, version };
  const server = await httpServerOf(served, parts).catch(async (error: unknown) => {
    await runtime.close(0);
    throw error;
  });
  const wired: Wired = {
    ...{ runtime, server, mcp, policies, hosts: [] },
    checkOffer: () => {
      const problem = memory?.warningFor(runtime.offered({ tenant: "default", agent: "local-agent" }));
      if (problem !== undefined) log.problem(problem);
    },
    close: async (stopListening) => {
      await runtime.drain(drainMs);
      await Promise.all([mcp.close(), server.close()]);
      await stopListening?.();
      await runtime.close(0);
      memory?.close();
    },
  };
  if (needs.servesAtOnce !== true) wired.checkOffer();
  return wired;
}

async function optionsOf(parts: WiringParts): Promise<RuntimeOptions> {
  const { settings, needs, log, redactor, secrets } = parts;
  const {
    dataFolder: folder,
    policy,
    guardrails,
    autonomy,
    audit,
    results,
    retention,
    channels,
    hooks,
    runs,
  } = settings;
  const { approver } = needs;
  return {
    ...{ folder, policy, guardrails, autonomy, audit, results, retention, redactor, secrets, clock },
    limits: { maxInlineResultBytes: serverInlineBytes, ...settings.limits },
    store: await storeOf(parts),
    accounts: { sessions: settings.accounts.sessions },
    approvals: { ...settings.approvals, ...(approver !== undefined && { approver }) },
    secretPatterns: settings.secretSettings.patterns,
    log: (problem) => log.problem(problem),
    ...(needs.tools === true && (await toolsOf(parts))),
    connections: { consoleUrl: consoleAt(parts), keyFile: settings.secretSettings.keyFile },
    ...(needs.servesAtOnce === true && { serverWaitMs: 0, metrics: true as const }),
    ...(runs.enabled && { archive: { folder: runs.folder, config: configSnapshot(settings) } }),
    ...(needs.channels === true &&
      channels !== undefined && { channels: { ...channels, consoleUrl: consoleAt(parts) } }),
    ...(hooks !== undefined && { hooks }),
    ...(needs.tools === true && workersOf(parts)),
  };
}

/** The embedded store is a file in the data folder. */
async function storeOf({ settings: { store, dataFolder }, secrets, redactor }: WiringParts): Promise<string> {
  if (store === undefined) return `sqlite:${join(dataFolder, "postern.db")}`;
  const address = await withSecrets(store, revealer({ secrets, redactor }));
  const password = URL.parse(address)?.password ?? "";
  learnAhead(redactor, [password, decodeURIComponent(password)]);
  return address;
}

async function httpServerOf(
  {
    mcp,
    ...given
  }: Pick<HttpServerOptions, "runtime" | "credentials" | "policies" | "version"> & { readonly mcp: McpGateway },
  parts: WiringParts,
): Promise<HttpServer> {
  const { settings, needs, log, redactor, secrets, memory, rejected, hosts } = parts;
  const { command = "postern" } = needs;
  const { runtime } = given;
  return createHttpServer({
    ...{ ...given, hosts, clock, rejected },
    memory: memory?.candidates,
    accounts: runtime.accounts,
    openId: await openIdOf(parts, runtime),
    oauth: await resourceServerOf(parts),
    publicUrl: settings.listen.publicUrl,
    trustedProxies: settings.listen.trustedProxies,
    dataFolder: settings.dataFolder,
    // A store gives what it reads to the redactor: one read masks the new value.
    learnSecret: async (connector, key) => {
      await secrets.get(connector, key).catch((error: unknown) => {
        log.problem(`A secret was set, and is masked only from its first use: ${messageOf(error)}`);
      });
    },
    command: { full: command, withoutValues: withoutValues(command) },
    mcp: (exchange, by, path) => mcp.handle(exchange, by, path),
    page: consoleFiles({ prepare: buildConsole, command: withoutValues(command) }),
    log: (message, fields) => log.problem(redactor.redact(`${message} ${JSON.stringify(fields)}`)),
  });
}

function policyReader(
  { settings, redactor }: WiringParts,
  runtime: Runtime,
  shared: SharedPolicy | undefined,
): PolicyReader {
  const { file } = settings;
  const base = file === undefined ? process.cwd() : dirname(file);
  return {
    policy: (text) => readPolicyText(text, base),
    tests: async (text) => readTestsText(text),
    ...(file !== undefined && { file: policyFileOf(file, { settings, redactor, runtime, shared }) }),
  };
}

/** What people read and change: the file, or the document in a store that gateways share. */
function policyFileOf(
  file: string,
  {
    settings,
    redactor,
    runtime,
    shared,
  }: Pick<WiringParts, "settings" | "redactor"> & {
    readonly runtime: Runtime;
    readonly shared: SharedPolicy | undefined;
  },
): EditablePolicyFile {
  const common = { mayEdit: settings.console.editPolicy, redact: (text: string) => redactor.redact(text) };
  if (shared?.isShared === true)
    return openSharedPolicyFile({ ...common, shared, name: basename(file), base: dirname(file) });
  return openPolicyFile({
    ...{ ...common, file, clock },
    inForce: new PolicyInForce({ started: settings, read: settings.again, policy: runtime.policy }),
  });
}

/** Used if gateways share the store. */
function sharedPolicyOf({ settings, log }: WiringParts): SharedPolicy | undefined {
  const { file, autonomy, sections } = settings;
  if (file === undefined) return undefined;
  const folder = dirname(file);
  const own = isCode(file)
    ? undefined
    : async () => writtenPolicy(await configurationText(file, folder), textIn(folder));
  const fixed = autonomy === (sections.autonomy ?? "A2") ? undefined : autonomy;
  return new SharedPolicy({ own, read: policyPartsReader(fixed), log: (problem) => log.problem(problem) });
}

/** The provider's package is loaded at the first sign-in. */
async function openIdOf(
  { settings, needs, log, secrets, redactor }: WiringParts,
  runtime: Runtime,
): Promise<OpenIdSignIn | undefined> {
  const { openId } = settings.accounts;
  if (openId === undefined) return undefined;
  const { OpenId, missingPackage } = await import("../../identity/openid.ts");
  const missing = needs.tools === true ? missingPackage() : undefined; // logged by `start` and `doctor`, not by each list
  if (missing !== undefined)
    log.problem(`\`accounts.openid\` is configured, but it cannot be used to sign in. ${missing}`);
  const sealed = (): Promise<SealedStore> => sealedStoreOf(runtime);
  if (needs.tools === true) await sealed(); // another key than the store's is refused at the start
  return new OpenId(openId, { clock, sealed, resolve: (text) => withSecrets(text, revealer({ secrets, redactor })) });
}

/** The issuer is asked in the background, so that Postern starts without it and the operator learns of a wrong address. */
async function resourceServerOf({ settings, needs, log }: WiringParts): Promise<ResourceServer | undefined> {
  const { oauth, listen } = settings;
  if (oauth === undefined) return undefined;
  const { audienceProblem, ResourceServer } = await import("../../identity/resource-server.ts");
  const server = new ResourceServer(oauth, { clock, onProblem: (problem) => log.problem(problem) });
  if (needs.tools !== true) return server;
  const problem = audienceProblem(oauth.audience, listen.publicUrl);
  if (problem !== undefined) log.problem(problem);
  void server.check();
  return server;
}

/** What agents may call. */
async function toolsOf({
  settings,
  memory,
  log,
  rejected,
}: WiringParts): Promise<Pick<RuntimeOptions, "tools" | "servers" | "skills" | "chains">> {
  const { file = "", tools, toolModules, toolFolders, servers, skillFolders, skillAgents: agents, chains } = settings;
  const warn = (problem: string): void => log.problem(problem);
  const reject = (tool: string, why: string): void => {
    warn(why);
    rejected.push({ tool, why });
  };
  const own = [...(memory?.tools ?? []), ...(await filesOf(settings)), ...(await providedOf(settings, reject))];
  const modules = await loadToolModules(toolModules, file);
  const found = await loadToolFolders(toolFolders, file, { others: [...tools, ...modules, ...own], warn });
  rejected.push(...found.rejected);
  const all = [...tools, ...modules, ...found.tools, ...own];
  const hasReader = all.some((tool) => "name" in tool && tool.name === readArtifactName);
  const hasSkills = skillFolders.length > 0 || Object.keys(agents).length > 0;
  return {
    tools: hasReader ? all : [...all, readArtifact],
    servers,
    ...(hasSkills && { skills: { folders: skillFolders, agents, linksAndGroups: settings.skillLinksAndGroups } }),
    ...(chains !== undefined && { chains }),
  };
}

async function filesOf(settings: Settings): Promise<Settings["tools"]> {
  if (settings.files === undefined) return [];
  const { fileTools } = await import("../../builtin/files/files.ts");
  return fileTools(guarded(settings.files, settings));
}

/** Tools that providers define and that run here, on the same roots. */
async function providedOf(settings: Settings, reject: (tool: string, why: string) => void): Promise<Settings["tools"]> {
  const { files, ...provided } = settings.provided;
  if (Object.values(provided).every((one) => one === undefined || one === false)) return [];
  const { openProvided } = await agentsPackage("A provider-defined tool of the configuration (`tools`)");
  const memories = join(settings.dataFolder, "memories");
  return openProvided(provided, { files: guarded(files, settings), memories, reject });
}

/** File tools do not reach what Postern stores, and cannot change its configuration. */
function guarded(files: FileSettings, settings: Settings): FileToolOptions {
  const { file, dataFolder: folder, results, runs, toolModules, toolFolders, skillFolders, secretSettings } = settings;
  const artifacts = results.folder === undefined ? [] : [results.folder];
  return {
    ...files,
    ...(runs.enabled && { runs: openRunFolders(runs.folder) }),
    outOfReach: [folder, ...artifacts, runs.folder, secretSettings.file, secretSettings.keyFile],
    notWritable: [...(file === undefined ? [] : [file]), ...toolModules, ...toolFolders, ...skillFolders],
  };
}

/** Without groups, the section is that of a worker. */
function workersOf(parts: WiringParts): Pick<RuntimeOptions, "workers"> {
  const { workers } = parts.settings;
  if (workers === undefined || Object.keys(workers.groups).length === 0) return {};
  const { gatewayUrl, maxRunning: _ofWorker, ...options } = workers;
  const url = gatewayUrl === undefined ? consoleAt(parts) : () => gatewayUrl;
  return { workers: { ...options, url } };
}

/** The address of the console: as configured, else of this machine once it listens. */
function consoleAt({ settings: { channels = {}, listen }, hosts }: WiringParts): () => string | undefined {
  return () => {
    const { consoleUrl = listen.publicUrl } = channels;
    const configured = typeof consoleUrl === "function" ? consoleUrl() : consoleUrl;
    const [host] = hosts();
    return configured?.replace(/\/+$/, "") ?? (host === undefined ? undefined : `http://${host}`);
  };
}

async function memoryOf(
  { memory, dataFolder: folder, runs }: Settings,
  redactor: Redactor,
  runtime: () => Runtime,
): Promise<OpenMemory | undefined> {
  if (memory === undefined) return undefined;
  const { openMemory } = await import("../../builtin/memory/open-memory.ts");
  return openMemory(memory, {
    ...{ folder, runs: openRunFolders(runs.folder), clock, redactor },
    openArtifact: (digest, by) => runtime().artifacts.open(digest, by),
  });
}
