/** Programs that tests drive, installed from npm at a fixed version into a cache inside node_modules. */
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"

export const CACHE = resolve(import.meta.dir, "../../node_modules/.cache/ctxbridge-clients")

/** Without a network npm would try for minutes. */
export const IMPATIENT = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000"]

/** `modules`: the `node_modules` that holds the package and what it needs. */
type FromNpm = { readonly modules: string } | { readonly missing: string }

let queue: Promise<unknown> = Promise.resolve()

/**
 * Installs one at a time: npm and two cores do not profit from more.
 *
 * @param spec the package with its exact version, `name@1.2.3`
 * @param folder its name in the cache
 */
export function fromNpm(spec: string, folder: string): Promise<FromNpm> {
  const next = queue.then(() => install(spec, folder))
  queue = next
  return next
}

async function install(spec: string, folder: string): Promise<FromNpm> {
  const modules = join(CACHE, folder, "node_modules")
  if (existsSync(modules)) return { modules }
  const npm = Bun.which("npm")
  if (npm === null) return { missing: "npm is not installed" }
  // Test files are processes of their own, and several may need the same at once.
  const dir = join(CACHE, `${folder}.partial-${process.pid}`)
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, "package.json"), '{"private":true}\n')
  // No script of a package runs.
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-save"]
  const { code, output } = await runNpm([npm, "install", spec, ...quiet, ...IMPATIENT], dir, 180_000)
  if (code !== 0) {
    rmSync(dir, { recursive: true, force: true })
    return { missing: `npm install ${spec} failed: ${firstError(output)}` }
  }
  try {
    renameSync(dir, join(CACHE, folder))
  } catch (error) {
    rmSync(dir, { recursive: true, force: true })
    if (!existsSync(modules)) throw error
  }
  return { modules }
}

/** npm as the user has it set up: a spawn without `env` gets the environment in which the tests were started. */
export async function runNpm(
  command: string[],
  cwd: string,
  timeout: number,
): Promise<{ code: number; output: string }> {
  const child = Bun.spawn(command, { cwd, stdin: "ignore", stdout: "pipe", stderr: "pipe", timeout })
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  const code = await child.exited
  return { code, output: code === 0 ? stdout : stderr + stdout }
}

function firstError(output: string): string {
  return output.split("\n").find((line) => line.startsWith("npm error")) ?? "in time"
}
