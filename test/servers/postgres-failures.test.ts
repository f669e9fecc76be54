/** Servers that do not work: each failure comes in time, in one line, with what to do about it. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Socket } from "bun"
import { serverAddress } from "../../src/sync/targets/postgres-address.ts"
import { openPostgresTarget } from "../../src/sync/targets/postgres-target.ts"
import { run } from "../support/binary.ts"
import { closing } from "../support/closing.ts"
import { Machine } from "../support/machine.ts"
import {
  freePort,
  installedPostgres,
  NO_VARIABLES,
  postgresVersions,
  startPostgres,
  type TestServer,
} from "../support/postgres.ts"
import { draft } from "../unit/sync/contract.ts"

setDefaultTimeout(60_000)

/** Opens with little patience; ends with the error. */
async function failure(address: string): Promise<{ code: string; message: string; hint: string }> {
  try {
    const backend = await openPostgresTarget(serverAddress(address, NO_VARIABLES), 700)
    await backend.close()
  } catch (error) {
    const { code, message, hint } = error as { code: string; message: string; hint: string }
    expect(message).not.toMatch(/sesame|wrong-one|\n/)
    expect(hint).toEqual(expect.any(String))
    return { code, message, hint }
  }
  throw new Error("it opened")
}

/** A server that does one thing with whatever it is sent. */
async function withServer(
  act: (socket: Socket) => void,
  body: (port: number) => Promise<void>,
): Promise<void> {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: act } })
  try {
    await body(listener.port)
  } finally {
    listener.stop(true)
  }
}

test("nobody there", async () => {
  expect(await failure(`postgres://me@127.0.0.1:${freePort()}/x`)).toMatchObject({ code: "target-refused" })
  expect(await failure("postgres://me@/x?host=/nowhere/at/all")).toMatchObject({ code: "target-absent" })
})

test.each([
  ["says nothing", () => {}],
  ["closes each connection", (socket: Socket): void => void socket.end()],
  [
    "speaks another protocol",
    (socket: Socket): void => void socket.write("HTTP/1.1 400 Bad Request\r\n\r\n"),
  ],
] as const)("a server that %s", async (_, act) => {
  await withServer(act, async (port) => {
    const { code, message } = await failure(`postgres://me@127.0.0.1:${port}/x`)
    expect(code).toMatch(/^target-(silent|closed)$/)
    expect(message).toContain(`127.0.0.1:${port}`)
  })
})

test("a server without TLS gets nothing from somebody who wants it", async () => {
  const received: string[] = []
  const act = (socket: Socket, data?: Buffer): void => {
    received.push(String(data))
    socket.write("N")
  }
  await withServer(act, async (port) => {
    const { code, hint } = await failure(`postgres://me:sesame@127.0.0.1:${port}/x?sslmode=verify-full`)
    expect({ code, hint }).toEqual({
      code: "target-without-tls",
      hint: expect.stringContaining("sslmode=disable"),
    })
  })
  expect(received.join("")).not.toContain("sesame")
})

describe.each(postgresVersions())("PostgreSQL %s", (_version, programs) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startPostgres(programs)
  })
  afterAll(async () => server[Symbol.asyncDispose]())

  test("a wrong password, and none", async () => {
    const wrong = server.address.replace("sesame", "wrong-one")
    expect(await failure(wrong)).toMatchObject({
      code: "target-denied",
      hint: expect.stringContaining("PASSWORD"),
    })
    expect(await failure(server.address.replace(":sesame", ""))).toMatchObject({ code: "target-denied" })
  })

  test("no such database", async () => {
    expect(await failure(`${server.address}-missing`)).toMatchObject({ code: "target-missing" })
  })

  test("read-only before the first sync, and afterwards", async () => {
    await server.run("CREATE DATABASE standby")
    const address = server.address.replace(/postgres$/, "standby")
    await server.run("ALTER DATABASE standby SET default_transaction_read_only = on")
    expect(await failure(address)).toMatchObject({ code: "target-unwritable" })
    await server.run("ALTER DATABASE standby SET default_transaction_read_only = off")
    await (await openPostgresTarget(serverAddress(address, NO_VARIABLES))).close()
    await server.run("ALTER DATABASE standby SET default_transaction_read_only = on")
    const backend = await openPostgresTarget(serverAddress(address, NO_VARIABLES))
    await expect(backend.put([draft({})])).rejects.toMatchObject({ code: "target-unwritable" })
    expect((await backend.stats()).entries).toBe(0)
    await backend.close()
  })

  test("a user who may not make tables", async () => {
    await server.run("CREATE ROLE guest LOGIN PASSWORD 'sesame'")
    expect(await failure(server.address.replace("owner", "guest"))).toMatchObject({ code: "target-denied" })
  })

  test("a server that is shut down between two calls", async () => {
    const backend = await openPostgresTarget(serverAddress(server.address, NO_VARIABLES), 2000)
    await server.run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'ctxbridge'",
    )
    // It connects again, and the next call goes through or tells why not.
    const put = await backend.put([draft({})]).catch((error) => error.code)
    expect([{ stored: 1, known: 0, refused: 0 }, "target-closed"]).toContainEqual(put)
    await backend.close()
  })
})

/** For a certificate of the past, which `openssl req` does not make. */
const AUTHORITY = `[ca]
default_ca = all
[all]
database = index.txt
serial = serial
new_certs_dir = .
default_md = sha256
policy = any
[any]
commonName = supplied
[names]
subjectAltName = DNS:localhost,IP:127.0.0.1
`

/** Needs openssl and a PostgreSQL that is built with it, as on every Debian. */
const programs = installedPostgres()
const openssl = Bun.which("openssl")

describe.skipIf(programs === undefined || openssl === null)("a server with a certificate", () => {
  let server: TestServer
  const folder = mkdtempSync(join(tmpdir(), "ctxbridge-tls-"))
  const file = (name: string): string => join(folder, name)
  const certify = (...words: string[]): void => {
    const ran = Bun.spawnSync([openssl!, ...words], { cwd: folder })
    if (ran.exitCode !== 0) throw new Error(ran.stderr.toString())
  }
  const make = (name: string, ...args: string[]): void => {
    const words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", file(`${name}.key`)]
    certify(...words, "-out", file(`${name}.crt`), ...args)
  }

  beforeAll(async () => {
    make(
      "ours",
      "-subj",
      "/CN=localhost",
      "-addext",
      "subjectAltName=DNS:localhost,IP:127.0.0.1",
      "-days",
      "2",
    )
    make("foreign", "-subj", "/CN=elsewhere", "-addext", "subjectAltName=DNS:elsewhere", "-days", "2")
    server = await startPostgres(programs!, { certificate: file("ours.crt"), key: file("ours.key") })
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  test("is trusted only when it is signed by somebody we trust", async () => {
    const address = `${server.address}?sslmode=verify-full`
    expect(await failure(address)).toMatchObject({ code: "target-untrusted" })
    expect(await failure(`${address}&sslrootcert=${file("foreign.crt")}`)).toMatchObject({
      code: "target-untrusted",
    })
    expect(await failure(`${address}&sslrootcert=${file("missing.crt")}`)).toMatchObject({
      code: "target-untrusted",
    })
    const trusted = serverAddress(`${address}&sslrootcert=${file("ours.crt")}`, NO_VARIABLES)
    const backend = await openPostgresTarget(trusted)
    expect(await backend.put([draft({})])).toMatchObject({ stored: 1 })
    await backend.close()
  })

  test("is refused once it has expired", async () => {
    writeFileSync(file("index.txt"), "")
    writeFileSync(file("serial"), "01\n")
    writeFileSync(file("ca.conf"), AUTHORITY)
    certify("req", "-new", "-key", file("ours.key"), "-subj", "/CN=localhost", "-out", file("old.csr"))
    const dates = ["-startdate", "20200101000000Z", "-enddate", "20200201000000Z"]
    const signing = [
      "-selfsign",
      "-keyfile",
      file("ours.key"),
      "-in",
      file("old.csr"),
      "-out",
      file("old.crt"),
    ]
    certify(
      "ca",
      "-batch",
      "-notext",
      "-config",
      file("ca.conf"),
      "-extensions",
      "names",
      ...signing,
      ...dates,
    )
    await using old = await startPostgres(programs!, { certificate: file("old.crt"), key: file("ours.key") })
    const address = `${old.address}?sslmode=verify-full&sslrootcert=${file("old.crt")}`
    const told = await failure(address)
    expect(told).toMatchObject({ code: "target-untrusted", message: expect.stringContaining("has expired") })
  })

  test("that lets nobody in without TLS says so, and with TLS it goes", async () => {
    await using strict = await startPostgres(programs!, {
      certificate: file("ours.crt"),
      key: file("ours.key"),
    })
    await strict.run(`DO $$ BEGIN
      EXECUTE format('COPY (SELECT ''hostssl all all all scram-sha-256'') TO %L', current_setting('hba_file'));
      PERFORM pg_reload_conf();
    END $$`)
    // It takes a moment until it has read that.
    let told: Awaited<ReturnType<typeof failure>> | undefined
    while (told === undefined) told = await failure(strict.address).catch(() => undefined)
    expect(told).toMatchObject({
      code: "target-denied",
      message: expect.stringContaining("without TLS"),
      hint: expect.stringContaining("sslmode=verify-full"),
    })
    const address = `${strict.address}?sslmode=verify-full&sslrootcert=${file("ours.crt")}`
    await using target = await closing(openPostgresTarget(serverAddress(address, NO_VARIABLES)))
    expect(await target.put([draft({})])).toMatchObject({ stored: 1 })
    // All of the variables, to the end.
    using machine = new Machine()
    await machine.hook("stop", machine.session().turn("The pool leaks").flush())
    const env = {
      ...machine.env,
      RUVECTOR_HOST: "localhost",
      RUVECTOR_PORT: new URL(strict.address).port,
      RUVECTOR_USER: "owner",
      RUVECTOR_PASSWORD: "sesame",
      RUVECTOR_DATABASE: "postgres",
      RUVECTOR_SSL: "true",
      RUVECTOR_SSLROOTCERT: file("ours.crt"),
    }
    expect(await run(["sync"], { env, cwd: machine.cwd })).toMatchObject({ code: 0, stderr: "" })
    expect(await target.find({ words: "pool", limit: 3 })).toHaveLength(1)
  })

  test("is refused for another host", async () => {
    await using other = await startPostgres(programs!, {
      certificate: file("foreign.crt"),
      key: file("foreign.key"),
    })
    const address = `${other.address}?sslmode=verify-full&sslrootcert=${file("foreign.crt")}`
    const told = await failure(address)
    expect(told).toMatchObject({ code: "target-untrusted", message: expect.stringContaining("another host") })
  })
})
