/** After a test run: ends the server that global-setup.js started. */
module.exports = async () => {
  await globalThis.everstepTestServer?.stop();
};
