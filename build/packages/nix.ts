/** A Nix flake that gets the release's binary, for Linux and macOS. */
import type { Published } from "./homebrew.ts"
import { binaryFor, type ReleaseFolder } from "./release-folder.ts"

const SYSTEMS = [
  ["x86_64-linux", "linux-x64"],
  ["aarch64-linux", "linux-arm64"],
  ["x86_64-darwin", "darwin-x64"],
  ["aarch64-darwin", "darwin-arm64"],
] as const

export function flake(release: ReleaseFolder, { url, homepage, description }: Published): string {
  const sources = SYSTEMS.flatMap(([name, system]) => {
    const one = binaryFor(release, system)
    if (one === undefined) return []
    return [
      `        ${name} = {`,
      `          url = "${url}/${one.name}.gz";`,
      `          sha256 = "${one.packedSum}";`,
      "        };",
    ]
  })
  return `# Made by \`npm run packages\` from SHA256SUMS.
{
  description = "${description}";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      sources = {
${sources.join("\n")}
      };
      packageFor = system: source:
        let pkgs = nixpkgs.legacyPackages.\${system};
        in pkgs.stdenv.mkDerivation {
          pname = "ctxbridge";
          version = "${release.version}";
          src = pkgs.fetchurl source;
          nativeBuildInputs = [ pkgs.installShellFiles ]
            ++ pkgs.lib.optional pkgs.stdenv.isLinux pkgs.autoPatchelfHook
            ++ pkgs.lib.optional pkgs.stdenv.isDarwin pkgs.darwin.autoSignDarwinBinariesHook;
          buildInputs = pkgs.lib.optional pkgs.stdenv.isLinux pkgs.stdenv.cc.cc.lib;
          dontUnpack = true;
          # Its own code stands behind the program in the same file, and stripping would cut it off.
          dontStrip = true;
          installPhase = ''
            mkdir -p $out/bin
            gzip -dc $src > $out/bin/ctxbridge
            chmod 755 $out/bin/ctxbridge
          '';
          # Once its loader has been set, the program can say what belongs to it.
          postFixup = ''
            for shell in bash zsh fish; do
              $out/bin/ctxbridge completions $shell > ctxbridge.$shell
            done
            $out/bin/ctxbridge man > ctxbridge.1
            installShellCompletion ctxbridge.{bash,zsh,fish}
            installManPage ctxbridge.1
          '';
          meta = {
            description = "${description}";
            homepage = "${homepage}";
            license = pkgs.lib.licenses.mit;
            mainProgram = "ctxbridge";
          };
        };
    in {
      packages = builtins.mapAttrs
        (system: source: { default = packageFor system source; })
        sources;
    };
}
`
}
