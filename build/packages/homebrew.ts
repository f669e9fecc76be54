/** The formula of Homebrew, for macOS and Linux: a binary of the release, checked by its sum. */
import { binaryFor, type ReleaseFolder } from "./release-folder.ts"

export interface Published {
  /** Address of the folder that has the release's files; no slash at its end. */
  readonly url: string
  readonly homepage: string
  readonly description: string
  readonly license: string
}

const SYSTEMS = [
  ["macos", "darwin"],
  ["linux", "linux"],
] as const
const PROCESSORS = [
  ["arm", "arm64"],
  ["intel", "x64"],
] as const

export function formula(release: ReleaseFolder, { url, homepage, description, license }: Published): string {
  const systems = SYSTEMS.flatMap(([name, system]) => {
    const processors = PROCESSORS.flatMap(([processor, arch]) => {
      const one = binaryFor(release, `${system}-${arch}`)
      if (one === undefined) return []
      return [
        `    on_${processor} do`,
        `      url "${url}/${one.name}.gz"`,
        `      sha256 "${one.packedSum}"`,
        "    end",
      ]
    })
    return processors.length === 0 ? [] : [`  on_${name} do`, ...processors, "  end", ""]
  })
  return `${[
    "# Made by `npm run packages` from SHA256SUMS.",
    "class Ctxbridge < Formula",
    `  desc "${description}"`,
    `  homepage "${homepage}"`,
    `  version "${release.version}"`,
    `  license "${license}"`,
    "",
    ...systems,
    "  def install",
    "    # Homebrew has unpacked the only file there is.",
    '    bin.install Dir["ctxbridge-*"].first => "ctxbridge"',
    '    chmod 0755, bin/"ctxbridge"',
    "    # The kernel of a Mac kills what is not signed.",
    '    system "codesign", "--force", "--sign", "-", bin/"ctxbridge" if OS.mac?',
    '    generate_completions_from_executable(bin/"ctxbridge", "completions")',
    '    (man1/"ctxbridge.1").write Utils.safe_popen_read(bin/"ctxbridge", "man")',
    "  end",
    "",
    "  def caveats",
    "    <<~EOS",
    "      Register it with Claude Code:",
    "        ctxbridge install",
    "    EOS",
    "  end",
    "",
    "  test do",
    '    assert_match version.to_s, shell_output("#{bin}/ctxbridge --version")',
    "  end",
    "end",
  ].join("\n")}\n`
}
