/**
 * A variable that the scripts set.
 * @param {string} name
 */
export function required(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: start the tests with tests/run.sh, or with run.sh in the directory of the suite`);
  return value;
}
