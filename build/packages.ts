/**
 * `npm run packages`: files for package managers, made from a release's SHA256SUMS, in dist/packages/.
 *
 *   --release DIR      the release; default: dist/release
 *   --out DIR          another folder
 *   --releases URL     where the release is published; without it, what needs an address is left out
 *   --homepage URL     default: the repository of a release at GitHub, else where releases are
 *   --maintainer NAME  `Name <address>` for the Debian package; default: the author of the commit
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import manifest from "../package.json"
import { aboutCommands } from "./packages/about-commands.ts"
import { pkgbuild, srcinfo } from "./packages/aur.ts"
import { debianFiles, debianVersion, PROCESSORS } from "./packages/debian.ts"
import { formula } from "./packages/homebrew.ts"
import { flake } from "./packages/nix.ts"
import { npmPackages } from "./packages/npm.ts"
import { binaryFor, readRelease } from "./packages/release-folder.ts"
import { writePackage } from "./packages/written-files.ts"

const ROOT = join(import.meta.dir, "..")

const { values } = parseArgs({
  options: {
    release: { type: "string" },
    out: { type: "string" },
    releases: { type: "string" },
    homepage: { type: "string" },
    maintainer: { type: "string" },
  },
})
const folder = resolve(values.release ?? join(ROOT, "dist/release"))
const out = resolve(values.out ?? join(ROOT, "dist/packages"))
const staged = `${out}.tmp`

function ran(command: readonly string[], env: Record<string, string> = {}): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], {
    cwd: ROOT,
    env: { ...process.env, ...env },
  })
  if (exitCode === 0) return String(stdout).trim()
  throw new Error(`${command.join(" ")} failed\n${stdout}${stderr}`)
}

const release = readRelease(folder, manifest.version)
if (release.binaries.length === 0)
  throw new Error(`${folder} has nothing of ${manifest.version}: npm run release`)
const licences = readFileSync(join(folder, `ctxbridge-${release.version}-licences.txt`), "utf8")
const { name, license } = manifest
// A sentence, but for its point: as these managers want it.
const description = manifest.description.replace(/\.$/, "")
const url = (values.releases ?? manifest.releases).replace(/\/$/, "")
const homepage = values.homepage ?? /^https:\/\/github\.com\/[^/]+\/[^/]+/.exec(url)?.[0] ?? url

rmSync(staged, { recursive: true, force: true })
mkdirSync(staged, { recursive: true })

for (const [packageName, files] of npmPackages(release, { name, description, license, licences }))
  writePackage(join(staged, "npm", packageName), files)

if (url === "") {
  console.log("Homebrew, Debian, AUR and Nix are left out: say where the release is with --releases URL")
} else {
  const published = { url, homepage, description, license }
  const texts = {
    "homebrew/ctxbridge.rb": formula(release, published),
    "aur/PKGBUILD": pkgbuild(release, published),
    "aur/.SRCINFO": srcinfo(release, published),
    "nix/flake.nix": flake(release, published),
  }
  for (const [path, text] of Object.entries(texts)) {
    mkdirSync(join(staged, path, ".."), { recursive: true })
    writeFileSync(join(staged, path), text)
  }
  if (Bun.which("dpkg-deb") === null) console.log("Debian is left out: there is no dpkg-deb")
  else await makeDebian()
}

rmSync(out, { recursive: true, force: true })
renameSync(staged, out)
console.log(out)

async function makeDebian(): Promise<void> {
  const time = Number(ran(["git", "log", "-1", "--format=%ct"]))
  const maintainer = values.maintainer ?? ran(["git", "log", "-1", "--format=%an <%ae>"])
  const ownLicence = readFileSync(join(ROOT, "LICENSE"), "utf8")
  const facts = {
    ownLicence,
    homepage,
    description,
    license,
    maintainer,
    time,
    licences,
    ...(await aboutCommands()),
  }
  for (const [arch, system] of PROCESSORS) {
    const one = binaryFor(release, system)
    if (one === undefined) continue
    const root = join(staged, `debian-${arch}`)
    writePackage(root, debianFiles(release, arch, one, facts))
    const deb = join(staged, "debian", `ctxbridge_${debianVersion(release)}_${arch}.deb`)
    mkdirSync(join(deb, ".."), { recursive: true })
    // Every dpkg reads gzip; level 9 takes twice as long for 0.3 % less.
    const how = ["--root-owner-group", "-Zgzip", "-z6", "--build"]
    ran(["dpkg-deb", ...how, root, deb], { SOURCE_DATE_EPOCH: String(time) })
    rmSync(root, { recursive: true, force: true })
  }
}
