/** `npm run packages`: what it makes, looked at, installed and run by the real package managers where they are here. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { join, resolve } from "node:path"
import { TARGETS } from "../../build/release/targets.ts"
import { version } from "../../package.json"
import { builtBinary } from "../support/built.ts"
import { collected } from "../support/collected.ts"
import { PLATFORM, standIn } from "../support/release.ts"
import { limit } from "../support/slowness.ts"
import { tempFolder } from "../support/temp.ts"

setDefaultTimeout(limit(180_000))

const ROOT = resolve(import.meta.dir, "../..")
const NOBODY = 65_534
const isRoot = process.getuid?.() === 0
const isLinux = process.platform === "linux"
const DEB = isLinux ? { x64: "amd64", arm64: "arm64" }[process.arch as string] : undefined

/** Whether there is a minute for lintian, and for the hundreds of processes that makepkg runs under fakeroot. */
const builds = process.env["CTXBRIDGE_TEST_RELEASE"] === "1"

/** Whether what a test needs is here; says so if not. */
function has(...programs: readonly string[]): boolean {
  const missing = programs.filter((name) => Bun.which(name) === null)
  if (missing.length > 0) console.warn(`skipped: packages: ${missing.join(", ")} is not installed`)
  return missing.length === 0
}

const folder = tempFolder()
const release = join(folder.path, "release")
const made = join(folder.path, "packages")
const address = `file://${release}`
const where = ["--releases", address, "--homepage", "https://example.com/ctxbridge"]
afterAll(() => folder[Symbol.dispose]())

async function ran(
  command: readonly string[],
  { cwd = folder.path, env = {} as Record<string, string> } = {},
) {
  return await collected(
    Bun.spawn([...command], {
      cwd,
      env: { ...process.env, HOME: join(folder.path, "home"), ...env },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    }),
  )
}

async function succeeds(command: readonly string[], how?: Parameters<typeof ran>[1]): Promise<string> {
  const { code, out, err } = await ran(command, how)
  if (code !== 0) throw new Error(`${command.join(" ")}: exit ${code}\n${out}${err}`)
  return out
}

const packages = (out: string, more: readonly string[], from = release): Promise<string> =>
  succeeds([process.execPath, join(ROOT, "build/packages.ts"), "--release", from, "--out", out, ...more], {
    cwd: ROOT,
  })

const text = (path: string): string => readFileSync(join(made, path), "utf8")

function writeAll(release: string, programs: Readonly<Record<string, Uint8Array>>): void {
  mkdirSync(release)
  const sums: string[] = []
  const add = (name: string, content: Uint8Array): void => {
    writeFileSync(join(release, name), content)
    sums.push(`${new Bun.CryptoHasher("sha256").update(content).digest("hex")}  ${name}\n`)
  }
  for (const [name, content] of Object.entries(programs)) {
    const file = `ctxbridge-${version}-${name}${name.startsWith("windows") ? ".exe" : ""}`
    add(file, content)
    add(`${file}.gz`, Bun.gzipSync(Buffer.from(content), { level: 1 }))
  }
  writeFileSync(join(release, "SHA256SUMS"), sums.join(""))
  writeFileSync(join(release, `ctxbridge-${version}-licences.txt`), "Licences of everything inside.\n")
}

const SYSTEMS = TARGETS.map(({ name }) => name).filter((name) => !name.endsWith("-baseline"))

/** Packing 130 MB takes long, so only the Debian package has the binary under test. Others say a version. */
beforeAll(async () => {
  mkdirSync(join(folder.path, "home"))
  writeAll(release, Object.fromEntries(SYSTEMS.map((name) => [name, standIn(version)])))
  await packages(made, where)
})

const sumOf = (name: string): string =>
  readFileSync(join(release, "SHA256SUMS"), "utf8")
    .split("\n")
    .find((line) => line.endsWith(`  ${name}`))!
    .slice(0, 64)

test("two runs make the same bytes; without an address only the npm packages", async () => {
  const again = join(folder.path, "again")
  await packages(again, where)
  expect(await succeeds(["diff", "-r", made, again])).toBe("")
  const out = await packages(again, [])
  expect(out).toContain("are left out: say where the release is with --releases URL")
  expect([...new Bun.Glob("*").scanSync({ cwd: again, onlyFiles: false })]).toEqual(["npm"])
  rmSync(again, { recursive: true })
})

describe("npm", () => {
  const name = `ctxbridge-${PLATFORM.replace("win32", "windows")}`
  const prefix = join(folder.path, "_npx", "0123")
  const launcher = join(prefix, "node_modules", ".bin", "ctxbridge")

  test("each system has a package that says so, and the main one wants them all", () => {
    const main = JSON.parse(text("npm/ctxbridge/package.json"))
    const wanted = Object.keys(main.optionalDependencies)
    expect(wanted).toEqual(SYSTEMS.map((one) => `ctxbridge-${one}`))
    for (const one of wanted) {
      const { os, cpu, libc, version: its } = JSON.parse(text(`npm/${one}/package.json`))
      const [, system, processor, musl] = one.split("-")
      expect({ os, cpu, libc, its }).toEqual({
        os: [system === "windows" ? "win32" : system],
        cpu: [processor],
        libc: system !== "linux" ? undefined : [musl ?? "glibc"],
        its: version,
      })
    }
  })

  /** By the name of the package. */
  const packed = new Map<string, string>()

  test("packed and installed by npm, it runs, with its input, output, exit code and signals", async () => {
    for (const one of [name, "ctxbridge"]) {
      const [{ filename }] = JSON.parse(
        await succeeds(["npm", "pack", "--json", "--pack-destination", folder.path], {
          cwd: join(made, "npm", one),
        }),
      )
      packed.set(one, join(folder.path, filename))
    }
    mkdirSync(prefix, { recursive: true })
    writeFileSync(join(prefix, "package.json"), '{"private":true}')
    const cache = join(folder.path, "npm-cache")
    await succeeds(
      ["npm", "install", "--offline", "--no-audit", "--no-fund", "--cache", cache, ...packed.values()],
      {
        cwd: prefix,
      },
    )
    expect(await ran([launcher, "--version"])).toEqual({ code: 0, out: `ctxbridge ${version}\n`, err: "" })
    copyFileSync(builtBinary(), join(prefix, "node_modules", name, "bin/ctxbridge"))
    expect(await ran([launcher, "--version"])).toEqual({ code: 0, out: `ctxbridge ${version}\n`, err: "" })
    const { code, err } = await ran([launcher, "nonsense"])
    expect({ code, err }).toEqual({ code: 64, err: expect.stringContaining("nonsense") })
    // The server waits for its input, and a signal ends it.
    const child = Bun.spawn([launcher, "mcp"], { stdin: "pipe", stdout: "pipe", stderr: "pipe" })
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" })}\n`)
    await child.stdin.flush()
    const { value } = await child.stdout.getReader().read()
    expect(new TextDecoder().decode(value)).toContain('"tools"')
    child.kill("SIGTERM")
    await child.exited
    expect(child.signalCode).toBe("SIGTERM")
  })

  test("npx gets both packages from a registry, and runs what they hold", async () => {
    using registry = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch({ url }) {
        const { pathname, origin } = new URL(url)
        const [one = "", file] = decodeURIComponent(pathname.slice(1)).split("/")
        const tarball = packed.get(one)
        if (tarball === undefined) return new Response("", { status: 404 })
        const bytes = readFileSync(tarball)
        if (file !== undefined) return new Response(bytes)
        const integrity = `sha512-${new Bun.CryptoHasher("sha512").update(bytes).digest("base64")}`
        const dist = { tarball: `${origin}/${one}/package.tgz`, integrity }
        const its = { ...JSON.parse(text(`npm/${one}/package.json`)), dist }
        return Response.json({ name: one, "dist-tags": { latest: version }, versions: { [version]: its } })
      },
    })
    const env = {
      npm_config_registry: registry.url.origin,
      npm_config_cache: join(folder.path, "npx-cache"),
      npm_config_update_notifier: "false",
    }
    expect(await ran(["npx", "--yes", "ctxbridge", "--version"], { env })).toEqual({
      code: 0,
      out: `ctxbridge ${version}\n`,
      err: "",
    })
  })

  test("`npx ctxbridge install` puts the program where it stays; npm's own is not updated by us", async () => {
    const home = join(folder.path, "npx-home")
    mkdirSync(home)
    const env = { HOME: home, CTXBRIDGE_HOME: join(home, "archive") }
    const kept = join(home, ".local/bin/ctxbridge")
    const { code, out, err } = await ran([launcher, "install", "--no-import"], { env })
    expect({ code, err }).toEqual({ code: 0, err: "" })
    expect(out).toStartWith(`Installed ${kept}\n`)
    expect(readFileSync(join(home, ".claude/settings.json"), "utf8")).toContain(`${kept} hook stop`)
    expect(await ran([kept, "--version"])).toEqual({ code: 0, out: `ctxbridge ${version}\n`, err: "" })
    for (const words of [["update"], ["update", "--rollback"]]) {
      expect(await ran([launcher, ...words], { env })).toEqual({
        code: 1,
        out: "",
        err: expect.stringMatching(/belongs to npm\nhint: update it with npm install -g ctxbridge\n$/),
      })
    }
  })

  test("without the system's package it says what to do", async () => {
    rmSync(join(prefix, "node_modules", name), { recursive: true })
    const { code, out, err } = await ran([launcher, "--version"])
    expect({ code, out }).toEqual({ code: 1, out: "" })
    expect(err).toBe(
      `ctxbridge: npm has not installed the program for ${process.platform}-${process.arch}\n` +
        "hint: optional packages must not be left out: npm install -g ctxbridge --include=optional\n",
    )
  })
})

test("Homebrew: a formula that Ruby reads, with the release's sums", async () => {
  const formula = text("homebrew/ctxbridge.rb")
  for (const system of ["darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64"]) {
    const name = `ctxbridge-${version}-${system}.gz`
    expect(formula).toContain(`url "${address}/${name}"\n      sha256 "${sumOf(name)}"`)
  }
  if (has("ruby"))
    expect(await succeeds(["ruby", "-wc", join(made, "homebrew/ctxbridge.rb")])).toBe("Syntax OK\n")
})

describe.skipIf(DEB === undefined || !has("dpkg-deb", "dpkg"))("Debian", () => {
  const own = join(folder.path, "with-program")
  const deb = join(own, "packages/debian", `ctxbridge_${version}-1_${DEB}.deb`)

  beforeAll(async () => {
    writeAll(own, { [PLATFORM]: readFileSync(builtBinary()) })
    await packages(join(own, "packages"), where, own)
  })

  test.skipIf(!builds || !has("lintian"))(
    "lintian finds nothing (skipped without CTXBRIDGE_TEST_RELEASE=1)",
    async () => {
      const { code, out } = await ran(["lintian", "--allow-root", "--tag-display-limit", "0", deb])
      expect({ code, out }).toEqual({ code: 0, out: "" })
    },
  )

  test.skipIf(!isRoot)("installed into an empty root it runs, and is gone when removed", async () => {
    const root = join(folder.path, "root")
    mkdirSync(join(root, "var/lib/dpkg"), { recursive: true })
    for (const name of ["status", "available"]) writeFileSync(join(root, "var/lib/dpkg", name), "")
    mkdirSync(join(root, "var/lib/dpkg/updates"))
    mkdirSync(join(root, "var/lib/dpkg/info"))
    // The C library is that of this machine.
    const dpkg = (...args: readonly string[]) =>
      succeeds(["dpkg", `--root=${root}`, "--log=/dev/null", "--force-depends", ...args])
    await dpkg("--install", deb)
    const program = join(root, "usr/bin/ctxbridge")
    expect(await succeeds([program, "--version"])).toBe(`ctxbridge ${version}\n`)
    expect(Buffer.compare(readFileSync(program), readFileSync(builtBinary()))).toBe(0)
    const page = Bun.gunzipSync(readFileSync(join(root, "usr/share/man/man1/ctxbridge.1.gz")))
    expect(Buffer.from(page).toString()).toBe(await succeeds([program, "man"]))
    for (const [shell, path] of [
      ["bash", "usr/share/bash-completion/completions/ctxbridge"],
      ["zsh", "usr/share/zsh/vendor-completions/_ctxbridge"],
      ["fish", "usr/share/fish/vendor_completions.d/ctxbridge.fish"],
    ] as const)
      expect(readFileSync(join(root, path), "utf8")).toBe(await succeeds([program, "completions", shell]))
    await dpkg("--purge", "ctxbridge")
    expect(existsSync(program)).toBe(false)
    expect(existsSync(join(root, "usr/share/doc/ctxbridge"))).toBe(false)
  })
})

describe("AUR", () => {
  test("bash reads the PKGBUILD, and shellcheck has nothing to say", async () => {
    const file = join(made, "aur/PKGBUILD")
    expect(await ran(["bash", "-n", file])).toEqual({ code: 0, out: "", err: "" })
    // Variables that makepkg reads and sets; it leaves package() at the first failure.
    if (has("shellcheck"))
      expect(await ran(["shellcheck", "-s", "bash", "-e", "SC2034,SC2154,SC2164", file])).toEqual({
        code: 0,
        out: "",
        err: "",
      })
  })

  test.skipIf(!builds || !isRoot || !isLinux || !has("makepkg", "pacman", "bsdtar", "setpriv"))(
    "makepkg says what .SRCINFO says, and builds a package that runs (skipped without CTXBRIDGE_TEST_RELEASE=1)",
    async () => {
      const work = join(folder.path, "aur")
      cpSync(join(made, "aur"), work, { recursive: true })
      // makepkg refuses to work for root.
      chmodSync(folder.path, 0o755)
      for (const path of [work, join(work, "PKGBUILD"), join(work, ".SRCINFO")])
        chownSync(path, NOBODY, NOBODY)
      // fakeroot closes every file that there could be, one by one.
      const few = ["sh", "-c", 'ulimit -n 1024; exec "$@"', "sh"]
      const makepkg = [...few, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "makepkg"]
      const how = { cwd: work, env: { HOME: work, PKGEXT: ".pkg.tar" } }
      expect(await succeeds([...makepkg, "--printsrcinfo"], how)).toBe(text("aur/.SRCINFO"))
      await succeeds([...makepkg, "--nodeps"], how)
      const [built] = [...new Bun.Glob("*.pkg.tar").scanSync(work)]
      mkdirSync(join(work, "root"))
      await succeeds(["tar", "-xf", built!, "-C", "root"], { cwd: work })
      expect(await succeeds([join(work, "root/usr/bin/ctxbridge"), "--version"])).toBe(
        `ctxbridge ${version}\n`,
      )
      for (const path of [
        "share/bash-completion/completions/ctxbridge",
        "share/zsh/site-functions/_ctxbridge",
        "share/fish/vendor_completions.d/ctxbridge.fish",
        "share/man/man1/ctxbridge.1.gz",
      ])
        expect(existsSync(join(work, "root/usr", path))).toBe(true)
    },
    900_000,
  )
})

test.skipIf(!has("nix-instantiate"))(
  "Nix: the flake is read, and names a source for each system",
  async () => {
    const flake = join(made, "nix/flake.nix")
    // Packages are not built here, as nixpkgs is not, so functions say what they are called with.
    const pkgs = `{
    fetchurl = source: source;
    installShellFiles = "installShellFiles"; autoPatchelfHook = "autoPatchelfHook";
    darwin.autoSignDarwinBinariesHook = "autoSignDarwinBinariesHook";
    lib = { optional = is: one: if is then [ one ] else []; licenses.mit = "MIT"; };
    stdenv = { isLinux = true; isDarwin = false; cc.cc.lib = "lib"; mkDerivation = package: package; };
  }`
    const names = ["x86_64-linux", "aarch64-linux", "x86_64-darwin", "aarch64-darwin"]
    const systems = names.map((one) => `"${one}" = pkgs;`).join(" ")
    const expression = `let pkgs = ${pkgs}; flake = import ${flake}; in
    builtins.mapAttrs (name: one: { inherit (one.default) src version nativeBuildInputs; })
      (flake.outputs { self = flake; nixpkgs.legacyPackages = { ${systems} }; }).packages`
    const store = { NIX_STATE_DIR: join(folder.path, "nix"), NIX_STORE_DIR: join(folder.path, "nix/store") }
    const out = await succeeds(["nix-instantiate", "--eval", "--strict", "--json", "-E", expression], {
      env: store,
    })
    const found = JSON.parse(out) as Record<string, { src: { url: string; sha256: string }; version: string }>
    expect(Object.keys(found).sort()).toEqual([...names].sort())
    expect(found["aarch64-darwin"]).toMatchObject({
      src: {
        url: `${address}/ctxbridge-${version}-darwin-arm64.gz`,
        sha256: sumOf(`ctxbridge-${version}-darwin-arm64.gz`),
      },
      version,
    })
  },
)
