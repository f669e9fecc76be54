/**
 * The npm packages: a small one with a launcher for Node, and one for each system, of which npm installs the one that
 * fits. Nothing is downloaded when they are installed.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { Packaged, ReleaseFolder } from "./release-folder.ts"
import type { PackageFiles } from "./written-files.ts"

const LAUNCHER = readFileSync(join(import.meta.dir, "launcher.cjs"), "utf8")

export interface About {
  readonly name: string
  readonly description: string
  readonly license: string
  /** Text of the licence, and of those of everything inside. */
  readonly licences: string
}

/** Folders to be published, the main one last: npm must find the others. */
export function npmPackages(release: ReleaseFolder, about: About): Map<string, PackageFiles> {
  const platforms = release.binaries.map(
    (one) => [packageName(about, one), platformPackage(release, about, one)] as const,
  )
  return new Map([...platforms, [about.name, mainPackage(release, about)]])
}

const packageName = ({ name }: About, { system }: Packaged): string => `${name}-${system}`

const isMusl = (system: string): boolean => system.endsWith("-musl")

function mainPackage(release: ReleaseFolder, about: About): PackageFiles {
  const manifest = {
    ...shared(release, about),
    name: about.name,
    description: about.description,
    bin: { ctxbridge: "launcher.cjs" },
    engines: { node: ">=18" },
    optionalDependencies: Object.fromEntries(
      release.binaries.map((one) => [packageName(about, one), release.version]),
    ),
  }
  return new Map([
    ["package.json", { content: json(manifest) }],
    ["launcher.cjs", { content: LAUNCHER, executable: true }],
    ["README.md", { content: readme(about) }],
    ["LICENSE", { content: about.licences }],
  ])
}

function platformPackage(release: ReleaseFolder, about: About, one: Packaged): PackageFiles {
  const [system = "", cpu = ""] = one.system.split("-")
  const file = system === "windows" ? "bin/ctxbridge.exe" : "bin/ctxbridge"
  const manifest = {
    ...shared(release, about),
    name: packageName(about, one),
    description: `The program of ${about.name} for ${one.system}`,
    os: [system === "windows" ? "win32" : system],
    cpu: [cpu],
    // Older versions of npm do not look at it, so the launcher does, too.
    ...(system === "linux" && { libc: [isMusl(one.system) ? "musl" : "glibc"] }),
    preferUnplugged: true,
  }
  return new Map([
    ["package.json", { content: json(manifest) }],
    [file, { from: join(release.folder, one.name), executable: true }],
    ["LICENSE", { content: about.licences }],
  ])
}

const shared = ({ version }: ReleaseFolder, { license }: About) => ({
  version,
  license,
  files: ["*", "bin/"],
})

const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`

const readme = ({ name, description }: About): string => `# ${name}

${description}

\`\`\`sh
npx ${name} install       # puts the program into ~/.local/bin and registers it with Claude Code
npm install -g ${name}    # or let npm keep it: then \`${name} install\`
\`\`\`
`
