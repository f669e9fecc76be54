import { expect, test } from "bun:test"
import { Archive } from "../../support/archive.ts"

test("a session that goes to other folders makes no projects there, whenever it is indexed", () => {
  using archive = new Archive()
  const session = archive.session("11111111-0000-4000-8000-000000000000")
  const said = (cwd: string, n: number): string =>
    JSON.stringify({
      type: "user",
      uuid: `aaaaaaaa-0000-4000-8000-00000000000${n}`,
      sessionId: session.session,
      cwd,
      timestamp: `2026-03-02T08:00:0${n}.000Z`,
      message: { role: "user", content: `prompt ${n}` },
    })
  for (const [n, cwd] of ["/here", "/there", "/elsewhere"].entries()) {
    session.raw(said(cwd, n))
    archive.follow(session.flush())
  }
  expect(archive.db.query("SELECT path FROM projects").all()).toEqual([{ path: "/here" }])
  expect(
    archive.db.query("SELECT p.path, s.cwd FROM sessions s JOIN projects p ON p.id = s.project").all(),
  ).toEqual([{ path: "/here", cwd: "/here" }])
})
