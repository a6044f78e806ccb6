import type { Sandbox } from "./isolation.js";

/** Programs and their libraries. Nothing of /etc that tells about people, and no /home, /root, /var, /run. */
const SYSTEM = ["/bin", "/sbin", "/lib", "/lib32", "/lib64"];
const SETTINGS = [
  "/etc/alternatives",
  "/etc/ca-certificates",
  "/etc/ld.so.cache",
  "/etc/localtime",
  // Not all of /etc/ssl: a server that runs as root could read its private keys.
  "/etc/ssl/certs",
  "/etc/ssl/openssl.cnf",
];
/**
 * Where the machine itself is set. Without capabilities a server's root is still the owner of these, and bwrap leaves
 * /proc/sys open to it: one line written there would run a program outside.
 */
const MACHINE = ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"];
const NETWORK_SETTINGS = ["/etc/hosts", "/etc/nsswitch.conf", "/etc/resolv.conf"];

/**
 * The arguments for `bwrap`: every namespace of its own, a root of its own with programs to read and nothing else,
 * no capability, and death with whoever started it.
 */
export function bubblewrapArguments(sandbox: Sandbox, command: readonly string[]): string[] {
  const { folder, writable = false, reads = [], network = false } = sandbox;
  const readable = (path: string) => ["--ro-bind-try", path, path];
  return [
    "--unshare-all",
    ...(network ? ["--share-net"] : []),
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
    "--hostname",
    "sandbox",
    "--ro-bind",
    "/usr",
    "/usr",
    ...[...SYSTEM, ...SETTINGS, ...(network ? NETWORK_SETTINGS : [])].flatMap(readable),
    "--proc",
    "/proc",
    ...MACHINE.flatMap(readable),
    "--dev",
    "/dev",
    "--tmpfs",
    "/tmp",
    // After the empty /tmp, or a folder in there would be hidden by it.
    ...reads.flatMap((path) => ["--ro-bind", path, path]),
    ...(folder ? [writable ? "--bind" : "--ro-bind", folder, folder] : []),
    "--chdir",
    folder ?? "/tmp",
    "--",
    ...command,
  ];
}
