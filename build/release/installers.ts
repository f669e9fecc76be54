/** The scripts that look for releases, and where they look. Pure. */

/** Paths in the repository. */
export const INSTALLERS = ["install.sh", "install.ps1", "plugin/setup.sh"] as const

/** An installer that looks for releases at this address; with none, it says that nothing is published. */
export const withReleases = (script: string, address: string): string =>
  script.replace(/^(\$?RELEASES ?= ?).*$/m, (_, start) => `${start}'${address}'`)
