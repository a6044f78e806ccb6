/** The SQLite binding that the store uses on this Node: its own one, or before 22.13 the same API from a package. */
const [major, minor] = process.versions.node.split(".").map(Number);
const builtIn = major > 22 || (major === 22 && minor >= 13);
module.exports = builtIn ? require("node:sqlite") : require("@photostructure/sqlite");
