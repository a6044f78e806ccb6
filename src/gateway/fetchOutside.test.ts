import { createServer, get, globalAgent, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { FETCH_LIMITS, fetchOutside, isPublicAddress } from "./fetchOutside.js";

const servers: Server[] = [];
afterEach(async () => {
  await Promise.all(
    servers.splice(0).map((server) => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    }),
  );
});

async function serve(answer: RequestListener): Promise<{ port: number; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    answer(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: (server.address() as AddressInfo).port, asked };
}

/** As if the server of the test were somewhere outside. */
const testServer = (address: string) => address === "127.0.0.1";
const INSIDE = { ok: false, why: "the address is inside a private network" };
const QUICK = { ...FETCH_LIMITS, ms: 3000 };

describe("what a stranger's URL can make us fetch", () => {
  const loopback = [
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0177.0.0.1",
    "0x7f.0.0.1",
    "0x7f000001",
    "１２７.0.0.1",
    "127.0.0.1.",
    "0.0.0.0",
    "0",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[2002:7f00:1::]",
    "localhost",
    "LOCALHOST",
    "localhost.",
  ];
  for (const host of loopback) {
    it(`is nothing of our own machine, as ${host}`, async () => {
      const { port, asked } = await serve((_, response) => response.end("secret"));
      const fetched = await fetchOutside(`http://${host}:${port}/`, QUICK);
      expect(asked).toEqual([]);
      // A name may also not be known at all, where the machine knows it in another spelling only.
      expect(fetched).toEqual(/^localhost/i.test(host) ? { ok: false, why: expect.any(String) } : INSIDE);
    });
  }

  const inside = [
    "10.0.0.1",
    "10.255.255.255",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "100.64.0.1",
    "169.254.169.254",
    "[fe80::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[ff02::1]",
    "[::ffff:10.0.0.1]",
    "[::ffff:169.254.169.254]",
    "224.0.0.1",
    "255.255.255.255",
  ];
  for (const host of inside) {
    it(`is nothing of a private network, as ${host}`, async () => {
      expect(await fetchOutside(`http://${host}/`, QUICK)).toEqual(INSIDE);
    });
  }

  it("is nothing a name leads to inside", async () => {
    const { port, asked } = await serve((_, response) => response.end("secret"));
    expect(await fetchOutside(`http://localhost:${port}/`, QUICK)).toEqual(INSIDE);
    expect(asked).toEqual([]);
  });

  it("is nothing behind a connection that somebody else left open", async () => {
    const { port, asked } = await serve((_, response) => response.end("secret"));
    await new Promise<void>((resolve) => {
      get(`http://localhost:${port}/ours`, (incoming) => incoming.resume().on("close", resolve));
    });
    expect(Object.keys(globalAgent.freeSockets)).toContain(`localhost:${port}:`);
    expect(await fetchOutside(`http://localhost:${port}/theirs`, QUICK)).toEqual(INSIDE);
    expect(asked).toEqual(["/ours"]);
  });

  it("is nothing with a password, nor anything but http", async () => {
    for (const url of ["http://a:b@example.com/", "http://a@example.com/"])
      expect(await fetchOutside(url, QUICK)).toMatchObject({
        ok: false,
        why: expect.stringContaining("password"),
      });
    for (const url of ["file:///etc/passwd", "ftp://example.com/", "data:,x", "gopher://x/", "", "http://["])
      expect(await fetchOutside(url, QUICK)).toEqual({ ok: false, why: "not an http(s) URL" });
  });

  it("is everything outside", () => {
    for (const address of ["1.1.1.1", "93.184.215.14", "172.32.0.1", "2606:4700:4700::1111"])
      expect(isPublicAddress(address)).toBe(true);
    expect(isPublicAddress("example.com")).toBe(false);
  });
});

describe("fetching", () => {
  const fetchFrom = (port: number, path: string, limits = QUICK) =>
    fetchOutside(`http://127.0.0.1:${port}${path}`, limits, testServer);

  it("brings the bytes, also by way of a redirect", async () => {
    const { port, asked } = await serve((request, response) => {
      if (request.url === "/a") response.writeHead(302, { location: "b?c=1" }).end();
      else response.end(Buffer.from([0, 255, 1]));
    });
    expect(await fetchFrom(port, "/a")).toEqual({ ok: true, bytes: new Uint8Array([0, 255, 1]) });
    expect(asked).toEqual(["/a", "/b?c=1"]);
  });

  it("does not follow a redirect inside, to a password, or to nothing", async () => {
    const targets: Record<string, string> = {
      "http://10.0.0.1/": INSIDE.why,
      "http://[::1]/": INSIDE.why,
      "//169.254.169.254/latest/": INSIDE.why,
      "http://0x0a000001/": INSIDE.why,
      "http://a:b@127.0.0.1/": "a URL with a password in it is not fetched",
      "file:///etc/passwd": "not an http(s) URL",
      "http://[": "redirected to no URL",
    };
    const { port } = await serve((request, response) => {
      response.writeHead(301, { location: decodeURIComponent(request.url?.slice(1) ?? "") }).end();
    });
    for (const [target, why] of Object.entries(targets))
      expect(await fetchFrom(port, `/${encodeURIComponent(target)}`)).toEqual({ ok: false, why });
  });

  it("does not go round in circles", async () => {
    const { port, asked } = await serve((_, response) => response.writeHead(302, { location: "/" }).end());
    expect(await fetchFrom(port, "/")).toEqual({ ok: false, why: "more than 3 redirects" });
    expect(asked).toHaveLength(4);
  });

  it("stops at what is too large, takes too long, breaks off or is not there", async () => {
    const { port } = await serve((request, response) => {
      if (request.url === "/large") response.end(Buffer.alloc(2000));
      else if (request.url === "/gone") response.writeHead(404).end();
      else response.writeHead(200, { "content-length": "100" }).write("a");
      if (request.url === "/broken") response.destroy();
    });
    expect(await fetchFrom(port, "/large", { ...QUICK, bytes: 1000 })).toEqual({
      ok: false,
      why: "larger than 1000 bytes",
    });
    expect(await fetchFrom(port, "/gone")).toEqual({ ok: false, why: "the server answered 404" });
    expect(await fetchFrom(port, "/slow", { ...QUICK, ms: 100 })).toEqual({
      ok: false,
      why: "it took too long",
    });
    expect(await fetchFrom(port, "/broken")).toMatchObject({ ok: false });
  });
});
