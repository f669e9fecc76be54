/** Who keeps a binary, by where it lies: an update of ours would be undone by its package manager, or break it. Pure. */

export interface PackageManager {
  readonly name: string
  /** The command that updates us. */
  readonly update: string
}

const MANAGERS: readonly (PackageManager & { readonly place: RegExp })[] = [
  { name: "npm", update: "npm install -g ctxbridge", place: /[\\/]node_modules[\\/]/ },
  { name: "Homebrew", update: "brew upgrade ctxbridge", place: /\/Cellar\// },
  { name: "Nix", update: "nix profile upgrade ctxbridge", place: /^\/nix\/store\// },
  {
    name: "the system's package manager",
    update: "apt, pacman or whatever has installed it",
    place: /^\/usr\/bin\//,
  },
]

/** @param binary its own path, without links */
export const managerOf = (binary: string): PackageManager | undefined =>
  MANAGERS.find(({ place }) => place.test(binary))

/**
 * Whether a binary lies as the installers put it: a checkout's own build does not. On Windows nothing that runs can be
 * removed.
 *
 * @param binary its own path, without links
 */
export const isRemovable = (binary: string): boolean =>
  managerOf(binary) === undefined && binary.endsWith("/bin/ctxbridge")
