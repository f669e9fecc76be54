/** The Debian package: its files, and what `dpkg-deb` needs to know. */
import { join } from "node:path"
import type { Published } from "./homebrew.ts"
import type { Packaged, ReleaseFolder } from "./release-folder.ts"
import type { PackageFile, PackageFiles } from "./written-files.ts"

export const PROCESSORS = [
  ["amd64", "linux-x64"],
  ["arm64", "linux-arm64"],
] as const

export interface DebianFacts extends Omit<Published, "url"> {
  /** `Name <address>` */
  readonly maintainer: string
  /** Of the commit that was released, in seconds since the epoch. */
  readonly time: number
  /** Text of our own licence. */
  readonly ownLicence: string
  /** Licences of everything inside. */
  readonly licences: string
  readonly manPage: string
  readonly completions: Readonly<Record<"bash" | "zsh" | "fish", string>>
}

/** The version as Debian orders it: a tilde comes before nothing. */
export const debianVersion = ({ version }: ReleaseFolder): string => `${version.replace("-", "~")}-1`

export function debianFiles(
  release: ReleaseFolder,
  arch: string,
  one: Packaged,
  facts: DebianFacts,
): PackageFiles {
  const version = debianVersion(release)
  const packed = (text: string) => ({
    content: Bun.gzipSync(Buffer.from(text), { level: 9, library: "libdeflate" }),
  })
  const day = new Date(facts.time * 1000).toUTCString().replace("GMT", "+0000")
  const changelog = `ctxbridge (${version}) unstable; urgency=medium

  * Release ${release.version}: see CHANGELOG.md.

 -- ${facts.maintainer}  ${day}
`
  return new Map<string, PackageFile>([
    ["DEBIAN/control", { content: control(version, arch, facts) }],
    ["usr/bin/ctxbridge", { from: join(release.folder, one.name), executable: true }],
    ["usr/share/man/man1/ctxbridge.1.gz", packed(facts.manPage)],
    ["usr/share/bash-completion/completions/ctxbridge", { content: facts.completions.bash }],
    ["usr/share/zsh/vendor-completions/_ctxbridge", { content: facts.completions.zsh }],
    ["usr/share/fish/vendor_completions.d/ctxbridge.fish", { content: facts.completions.fish }],
    ["usr/share/doc/ctxbridge/copyright", { content: copyright(facts) }],
    ["usr/share/doc/ctxbridge/licences.txt.gz", packed(facts.licences)],
    ["usr/share/doc/ctxbridge/changelog.Debian.gz", packed(changelog)],
    ["usr/share/lintian/overrides/ctxbridge", { content: OVERRIDES }],
  ])
}

const copyright = ({ homepage, ownLicence }: DebianFacts): string => `ctxbridge: ${homepage}

${ownLicence.trim()}

The program contains Bun and other software. Their licences are in
/usr/share/doc/ctxbridge/licences.txt.gz
`

const control = (
  version: string,
  arch: string,
  { maintainer, homepage }: DebianFacts,
): string => `Package: ctxbridge
Version: ${version}
Architecture: ${arch}
Maintainer: ${maintainer}
Section: utils
Priority: optional
Homepage: ${homepage}
Depends: libc6 (>= 2.17)
Description: memory for Claude Code that survives compaction
 Archives every session of Claude Code word for word on this machine, restores
 what a compaction loses, and searches all of it.
 .
 Each user registers it with: ctxbridge install
`

const OVERRIDES = `# The program's own code stands behind Bun in the same file, and stripping would cut it off.
ctxbridge: unstripped-binary-or-object [usr/bin/ctxbridge]
# Bun is taken as it is published.
ctxbridge: embedded-library libjpeg [usr/bin/ctxbridge]
ctxbridge: hardening-no-pie [usr/bin/ctxbridge]
ctxbridge: hardening-no-relro [usr/bin/ctxbridge]
# Not for Debian's own archive.
ctxbridge: initial-upload-closes-no-bugs [usr/share/doc/ctxbridge/changelog.Debian.gz:1]
`
