// Imports a package from this folder: resolution starts where the importing file lies.
const name = new URL(import.meta.url).searchParams.get("name");
export default await import(name);
