/**
 * Slash commands that the host executes itself, without asking the model. In background sessions (seen in 2.1.215 and
 * 2.1.220) it writes one both as typed and as a command.
 */

/** From the program of 2.1.112, without names that users may have given to commands of their own. */
const NAMES = new Set(
  `add-dir agents allowed-tools autocompact bashes clear compact config context cost doctor effort exit export
  extra-usage feedback help hooks ide install-github-app install-slack-app keybindings login logout marketplace mcp
  memory model output-style permissions plugin plugins privacy-settings quit rate-limit-options release-notes
  reload-plugins remote-control remote-env rename reset resume rewind sandbox settings skills stats status stickers
  teleport terminal-setup theme todos upgrade usage vim web-setup`.split(/\s+/),
)

/** @param name without its slash */
export const isBuiltInCommand = (name: string): boolean => NAMES.has(name)
