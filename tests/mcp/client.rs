//! The SDK's client, and a server for it to talk to.

use std::process::Stdio;
use std::sync::{Arc, Mutex};

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientConfig, JsonObject, ProgressNotificationParam,
};
use rmcp::service::{NotificationContext, RunningService};
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientHandler, RoleClient, ServiceError, ServiceExt as _};
use serde_json::Value;

use super::support::git::{Sandbox, isolate};

/// A client that keeps what it is told.
#[derive(Clone, Default)]
pub(crate) struct Told(pub(crate) Arc<Mutex<Vec<ProgressNotificationParam>>>);

impl ClientHandler for Told {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::default()
    }

    async fn on_progress(
        &self,
        told: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.0.lock().unwrap().push(told);
    }
}

pub(crate) type Client = RunningService<RoleClient, Told>;

/// `gitsip mcp` with the network of tests, as nobody in particular.
pub(crate) fn command(sandbox: &Sandbox, options: &[&str]) -> std::process::Command {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_gitsip"));
    isolate(&mut command, sandbox.path());
    command.args(["mcp", "--allow-host", "127.0.0.1"]).args(options);
    command
}

/// A client of a server that is its child.
pub(crate) async fn connect(sandbox: &Sandbox, options: &[&str]) -> Client {
    connect_to(command(sandbox, options)).await
}

pub(crate) async fn connect_to(command: std::process::Command) -> Client {
    let command = tokio::process::Command::from(command);
    let (child, _) = TokioChildProcess::builder(command).stderr(Stdio::inherit()).spawn().unwrap();
    Told::default().serve(child).await.unwrap()
}

/// What `tool` answers.
pub(crate) async fn call(client: &Client, tool: &str, arguments: Value) -> CallToolResult {
    try_call(client, tool, arguments).await.unwrap()
}

pub(crate) async fn try_call(
    client: &Client,
    tool: &str,
    arguments: Value,
) -> Result<CallToolResult, ServiceError> {
    client.call_tool(request(tool, arguments)).await
}

pub(crate) fn request(tool: &str, arguments: Value) -> CallToolRequestParams {
    let arguments: JsonObject = serde_json::from_value(arguments).unwrap();
    CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments)
}

/// The text form of a reply.
pub(crate) fn text(result: &CallToolResult) -> String {
    result.content[0].as_text().unwrap().text.clone()
}

/// The structured form of a reply.
pub(crate) fn structured(result: &CallToolResult) -> &Value {
    result.structured_content.as_ref().unwrap()
}

/// The code of a reply that is an error.
#[track_caller]
pub(crate) fn code(result: &CallToolResult) -> &str {
    assert_eq!(result.is_error, Some(true), "{result:?}");
    structured(result)["error"]["code"].as_str().unwrap()
}
