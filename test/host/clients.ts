/** The real clients, installed from npm into a cache inside node_modules; never the client of this machine. */
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { CACHE, fromNpm, IMPATIENT, runNpm } from "./from-npm.ts"

const PACKAGE = "@anthropic-ai/claude-code"

export interface Client {
  readonly version: string
  /** How to start it: an interpreter and a script, or one native file. */
  readonly command: readonly string[]
}

export type Found = { readonly client: Client } | { readonly missing: string }

/** The newest version these tests were made with: a run must not depend on what is published meanwhile. */
const NEWEST_KNOWN = "2.1.330"

/**
 * For a suite that is there whether it can run or not: without its client it is to be skipped, and says so here.
 *
 * @param what is skipped then
 */
export async function clientFor(
  wanted: string,
  what = `Claude Code ${wanted}`,
): Promise<{ readonly client: Client; readonly missing: string | undefined }> {
  const found = await find(wanted)
  if ("client" in found) return { client: found.client, missing: undefined }
  console.warn(`skipped: ${what}: ${found.missing}`)
  return { client: { version: "0.0.0", command: [] }, missing: found.missing }
}

async function find(wanted: string): Promise<Found> {
  const version = wanted === "latest" ? await latestVersion() : wanted
  if (version === undefined)
    return { missing: "npm does not say which version is the latest, and none is cached" }
  // Its postinstall only links the native file, which we start directly.
  const found = await fromNpm(`${PACKAGE}@${version}`, version)
  if ("missing" in found) return found
  const client = startable(version)
  return client === undefined ? { missing: `${PACKAGE}@${version} has nothing to start here` } : { client }
}

/** With CTXBRIDGE_TEST_LATEST=1 npm is asked; without an answer, the newest version that an earlier run has left. */
async function latestVersion(): Promise<string | undefined> {
  if (process.env["CTXBRIDGE_TEST_LATEST"] !== "1") return NEWEST_KNOWN
  const npm = Bun.which("npm")
  if (npm !== null) {
    const { code, output } = await runNpm(
      [npm, "view", PACKAGE, "version", ...IMPATIENT],
      import.meta.dir,
      30_000,
    )
    const version = lastLine(output)
    if (code === 0 && /^\d+\.\d+\.\d+$/.test(version)) return version
  }
  const known = existsSync(CACHE) ? readdirSync(CACHE).filter((name) => /^\d+\.\d+\.\d+$/.test(name)) : []
  return known.sort(Bun.semver.order).at(-1)
}

function startable(version: string): Client | undefined {
  const modules = join(CACHE, version, "node_modules")
  const script = join(modules, PACKAGE, "cli.js")
  const node = Bun.which("node")
  if (existsSync(script)) return node === null ? undefined : { version, command: [node, script] }
  const platform = `${process.platform}-${process.arch}`
  for (const suffix of ["", "-musl"]) {
    const native = join(modules, `${PACKAGE}-${platform}${suffix}`, "claude")
    if (existsSync(native)) return { version, command: [native] }
  }
  return undefined
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) ?? ""
}

/** True if a version behaves as those before 2.1 do. */
export function isOld(client: Client): boolean {
  return Bun.semver.order(client.version, "2.1.0") < 0
}
