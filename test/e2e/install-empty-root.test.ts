/** install.sh where there is next to nothing: a shell, coreutils, and one program that fetches. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { copyFileSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { builtBinary } from "../support/built.ts"
import { addApplets, addLibraries, intoRoot, makeRoot } from "../support/empty-root.ts"
import { INSTALLER, serveRelease, writeRelease } from "../support/release.ts"
import { limit } from "../support/slowness.ts"
import { tempFolder } from "../support/temp.ts"

setDefaultTimeout(limit(120_000))

const TOOLS = "cat chmod cp dirname env mkdir mktemp mv rm uname".split(" ")

/** Whether this user may make a root of a folder. */
function mayEnter(): boolean {
  using folder = tempFolder()
  makeRoot(folder.path, {})
  return process.platform === "linux" && intoRoot(folder.path) !== undefined
}
const isAllowed = mayEnter()

interface Machine {
  readonly name: string
  /** Copied from here, by name there. */
  readonly programs: Readonly<Record<string, string | null>>
  /** What busybox does. */
  readonly applets?: readonly string[]
}

const found = (...names: readonly string[]): Record<string, string | null> =>
  Object.fromEntries(names.map((name) => [name, Bun.which(name)]))

const MACHINES: readonly Machine[] = [
  {
    name: "dash, coreutils, curl",
    programs: { ...found(...TOOLS, "sha256sum", "gzip", "curl"), sh: Bun.which("dash") },
  },
  // No gzip: what is not packed is fetched.
  {
    name: "dash, coreutils, wget, openssl",
    programs: { ...found(...TOOLS, "openssl", "wget"), sh: Bun.which("dash") },
  },
  {
    name: "busybox, curl",
    programs: found("busybox", "curl"),
    applets: [...TOOLS, "sh", "sha256sum", "gzip"],
  },
]

const can = ({ programs }: Machine): boolean =>
  isAllowed && Object.values(programs).every((path) => path !== null)

/** Skipped where a program is missing, or no root may be made. */
for (const machine of MACHINES) test.skipIf(!can(machine))(machine.name, () => installedOn(machine))

async function installedOn({ programs, applets = [] }: Machine): Promise<void> {
  using folder = tempFolder()
  const root = join(folder.path, "root")
  makeRoot(root, programs as Record<string, string>)
  const enter = intoRoot(root)!
  addApplets(root, applets)
  addLibraries(root, builtBinary())
  copyFileSync(INSTALLER, join(root, "tmp/install.sh"))
  const { version } = JSON.parse(readFileSync(join(import.meta.dir, "../../package.json"), "utf8"))
  const release = join(folder.path, "release")
  writeRelease(release, version, readFileSync(builtBinary()))
  using server = await serveRelease(release)
  const ran = async (...command: readonly string[]) => {
    const child = Bun.spawn([...enter, ...command], {
      cwd: "/",
      env: { PATH: `${process.env["PATH"]}:/bin`, HOME: "/home" },
      stdio: ["ignore", "pipe", "pipe"],
    })
    const [out, err, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ])
    return { code, out, err }
  }
  const url = server.url.replace("localhost", "127.0.0.1")
  const installed = await ran("/bin/sh", "/tmp/install.sh", "--from", url, "--no-demo")
  expect(installed).toMatchObject({ code: 0, err: "" })
  expect(installed.out).toContain("Installed  /home/.local/bin/ctxbridge\n")
  expect(readdirSync(join(root, "home/.local/bin"))).toEqual(["ctxbridge"])
  expect(await ran("/home/.local/bin/ctxbridge", "--version")).toMatchObject({
    code: 0,
    out: `ctxbridge ${version}\n`,
  })
  expect(readFileSync(join(root, "home/.claude/settings.json"), "utf8")).toContain(
    "/home/.local/bin/ctxbridge hook",
  )
}
