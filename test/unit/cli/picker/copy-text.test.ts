/** Copying where no program near the user does it. */
import { expect, test } from "bun:test"
import { copyText } from "../../../../src/cli/picker/run-picker.ts"
import { terminalTraits } from "../../../../src/config/load.ts"

test("over ssh, the terminal is told what to copy (OSC 52), and no program is asked", () => {
  const env = { SSH_CONNECTION: "192.0.2.1 5022 192.0.2.2 22", DISPLAY: ":0", WAYLAND_DISPLAY: "wayland-0" }
  let written = ""
  const by = copyText("npm test -- 日本語\n", terminalTraits(env), (text) => {
    written += text
  })
  expect(by).toBe("the terminal")
  const [, copied = ""] = /^\x1b\]52;c;([A-Za-z0-9+/=]+)\x07$/.exec(written) ?? []
  expect(Buffer.from(copied, "base64").toString()).toBe("npm test -- 日本語\n")
})
