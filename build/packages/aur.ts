/** PKGBUILD and .SRCINFO for the AUR, from the release's sums. The second is what `makepkg --printsrcinfo` says. */
import type { Published } from "./homebrew.ts"
import { binaryFor, type Packaged, type ReleaseFolder } from "./release-folder.ts"

const NAME = "ctxbridge-bin"
const PROCESSORS = [
  ["x86_64", "linux-x64"],
  ["aarch64", "linux-arm64"],
] as const

type Named = readonly [arch: string, one: Packaged]

const processorsOf = (release: ReleaseFolder): Named[] =>
  PROCESSORS.flatMap(([arch, system]) => {
    const one = binaryFor(release, system)
    return one === undefined ? [] : [[arch, one] as const]
  })

/** pacman knows no dashes in versions. */
const versionOf = ({ version }: ReleaseFolder): string => version.replaceAll("-", "_")

export function pkgbuild(release: ReleaseFolder, { url, homepage, description, license }: Published): string {
  const found = processorsOf(release)
  return `${[
    "# Made by `npm run packages` from SHA256SUMS.",
    `pkgname=${NAME}`,
    `pkgver=${versionOf(release)}`,
    "pkgrel=1",
    `pkgdesc="${description}"`,
    `arch=(${found.map(([arch]) => `'${arch}'`).join(" ")})`,
    `url="${homepage}"`,
    `license=('${license}')`,
    "depends=('glibc')",
    "provides=('ctxbridge')",
    "conflicts=('ctxbridge')",
    "# Its own code stands behind the program in the same file, and stripping would cut it off.",
    "options=('!strip' '!debug')",
    ...found.flatMap(([arch, one]) => [
      `source_${arch}=("${one.name}.gz::${url}/${one.name}.gz")`,
      `sha256sums_${arch}=('${one.packedSum}')`,
    ]),
    "",
    "package() {",
    "  # makepkg has unpacked the only source.",
    '  install -Dm755 "$srcdir"/ctxbridge-*[!z] "$pkgdir/usr/bin/ctxbridge"',
    '  cd "$pkgdir/usr"',
    "  for shell in bash zsh fish; do",
    '    bin/ctxbridge completions "$shell" >"$srcdir/$shell"',
    "  done",
    '  bin/ctxbridge man >"$srcdir/man"',
    '  install -Dm644 "$srcdir/bash" share/bash-completion/completions/ctxbridge',
    '  install -Dm644 "$srcdir/zsh" share/zsh/site-functions/_ctxbridge',
    '  install -Dm644 "$srcdir/fish" share/fish/vendor_completions.d/ctxbridge.fish',
    '  install -Dm644 "$srcdir/man" share/man/man1/ctxbridge.1',
    "}",
  ].join("\n")}\n`
}

export function srcinfo(release: ReleaseFolder, { url, homepage, description, license }: Published): string {
  const found = processorsOf(release)
  const fields: [string, string][] = [
    ["pkgdesc", description],
    ["pkgver", versionOf(release)],
    ["pkgrel", "1"],
    ["url", homepage],
    ...found.map(([arch]): [string, string] => ["arch", arch]),
    ["license", license],
    ["depends", "glibc"],
    ["provides", "ctxbridge"],
    ["conflicts", "ctxbridge"],
    ["options", "!strip"],
    ["options", "!debug"],
    ...found.flatMap(([arch, one]): [string, string][] => [
      [`source_${arch}`, `${one.name}.gz::${url}/${one.name}.gz`],
      [`sha256sums_${arch}`, one.packedSum],
    ]),
  ]
  const lines = fields.map(([name, value]) => `\t${name} = ${value}`)
  return `${[`pkgbase = ${NAME}`, ...lines, "", `pkgname = ${NAME}`].join("\n")}\n`
}
