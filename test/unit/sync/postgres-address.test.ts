/** Where a server is: addresses, variables, and when the connection is encrypted. */
import { describe, expect, test } from "bun:test"
import { isServerAddress, serverAddress } from "../../../src/sync/targets/postgres-address.ts"
import { NO_VARIABLES } from "../../support/postgres.ts"

test("an address has everything", () => {
  const whole = "postgresql://me%40home:p%3Ass@db.example:6543/memory?sslrootcert=/etc/ca.pem"
  expect(serverAddress(whole, NO_VARIABLES)).toEqual({
    host: "db.example",
    port: 6543,
    database: "memory",
    user: "me@home",
    password: "p:ss",
    tls: true,
    sslrootcert: "/etc/ca.pem",
    shown: "postgres://me@home@db.example:6543/memory",
  })
})

test("what is missing comes from the variables, then from what is usual", () => {
  const all = {
    ...NO_VARIABLES,
    host: "db.example",
    port: "6543",
    database: "memory",
    user: "me",
    password: "secret",
  }
  const expected = { host: "db.example", port: 6543, database: "memory", user: "me", password: "secret" }
  for (const named of ["postgres:", "postgres://", "POSTGRESQL:"])
    expect(serverAddress(named, all)).toMatchObject(expected)
  expect(serverAddress("postgres://you@other/db", all)).toMatchObject({
    host: "other",
    user: "you",
    database: "db",
  })
  expect(serverAddress("postgres://you@", NO_VARIABLES)).toMatchObject({
    host: "localhost",
    port: 5432,
    database: "you",
  })
  expect(serverAddress("postgres://me@[::1]:7/x", NO_VARIABLES)).toMatchObject({
    host: "::1",
    port: 7,
    tls: false,
  })
  expect(serverAddress("postgres://me@/x?host=/run/postgresql", NO_VARIABLES)).toMatchObject({
    host: "/run/postgresql",
    tls: false,
  })
})

describe("encryption", () => {
  const tlsOf = (host: string, sslmode?: string): boolean =>
    serverAddress(
      `postgres://me@${host}/x${sslmode === undefined ? "" : `?sslmode=${sslmode}`}`,
      NO_VARIABLES,
    ).tls

  test("always, beyond this computer", () => {
    for (const host of ["db.example", "10.0.0.1", "128.0.0.1", "localhost.example", "127.0.0.1.example"]) {
      for (const mode of [undefined, "allow", "prefer", "require", "verify-ca", "verify-full"])
        expect({ host, mode, tls: tlsOf(host, mode) }).toEqual({ host, mode, tls: true })
      expect(tlsOf(host, "disable")).toBe(false)
    }
  })

  test("on this computer only if asked for", () => {
    for (const host of ["localhost", "127.0.0.1", "127.1.2.3", "[::1]"]) {
      expect([tlsOf(host), tlsOf(host, "prefer"), tlsOf(host, "require")]).toEqual([false, false, true])
    }
  })
})

test("what is wrong is said without the password", () => {
  const messageFor = (named: string, variables = NO_VARIABLES): string => {
    try {
      return serverAddress(named, variables).shown
    } catch (error) {
      return (error as Error).message
    }
  }
  expect(messageFor("postgres://me:swordfish@host:port/x")).toBe("cannot read the server's address")
  expect(messageFor("postgres://host/x")).toBe("the address has no user")
  expect(messageFor("postgres://me:swordfish@host/x?sslmode=maybe")).toBe("unknown sslmode: maybe")
  expect(messageFor("postgres://me:swordfish@host/x?options=-c")).toBe("unknown part of the address: options")
  expect(messageFor("postgres://me@host/x", { ...NO_VARIABLES, port: "many" })).toBe("not a port: many")
  expect(messageFor("postgres://me:swordfish@host/x")).not.toContain("swordfish")
})

test("only addresses are addresses", () => {
  for (const one of ["postgres:", "postgresql://x", "Postgres://x"]) expect(isServerAddress(one)).toBe(true)
  for (const one of ["postgres", "./postgres:", "/a/postgres:b", "https://x"])
    expect(isServerAddress(one)).toBe(false)
})
