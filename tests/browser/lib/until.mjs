/** Resolves to what `attempt` gives, once it gives something; fails after a deadline. */
export async function until(what, attempt, millis = 20_000) {
  const deadline = Date.now() + millis;
  for (;;) {
    const value = await attempt();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
