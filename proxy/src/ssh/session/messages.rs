//! Each message of a client.

use std::sync::Arc;

use bytes::Bytes;
use rp_base::text::clean;
use russh::keys::Certificate;
use russh::server::{Auth, ChannelOpenHandle, Handler, Msg, PublicKeyOffer, Session, VerifiedPublicKey};
use russh::{Channel, ChannelId, Pty, Sig};

use super::{
    ClientHandler, MOST_COMMAND, MOST_NAME, MOST_VARIABLES, TRICKLE, WINDOW, is_allowed, prohibited, rejected,
};
use crate::ssh::auth::MOST_USER;
use crate::ssh::connection::ChannelTarget;
use crate::ssh::relay::{ChannelRequest, ClientMessage, Terminal};
use crate::ssh::{algorithms, banner};

impl Handler for ClientHandler {
    type Error = russh::Error;

    async fn authentication_banner(&mut self) -> Result<Option<String>, russh::Error> {
        Ok(Some(banner::greeting(self.connection.host())))
    }

    async fn auth_none(&mut self, _user: &str) -> Result<Auth, russh::Error> {
        Ok(rejected())
    }

    async fn auth_password(&mut self, user: &str, password: &str) -> Result<Auth, russh::Error> {
        self.passwords += 1;
        if self.passwords > self.connection.settings().tries {
            self.connection.end("too many passwords were tried");
            return Ok(rejected());
        }
        let checked = self.connection.authority().password(user, password, self.connection.from).await;
        Ok(self.decide(user, "password", checked).await)
    }

    async fn auth_publickey_offered(
        &mut self,
        _user: &str,
        offer: PublicKeyOffer<'_>,
    ) -> Result<Auth, russh::Error> {
        // The owner is looked up only after the signature is verified.
        let good = algorithms::accepts(self.connection.fips(), offer.algorithm);
        Ok(if good { Auth::Accept } else { rejected() })
    }

    async fn auth_publickey(
        &mut self,
        _user: &str,
        _key: VerifiedPublicKey<'_>,
    ) -> Result<Auth, russh::Error> {
        // A plain key is never accepted, only a certificate of this service.
        Ok(rejected())
    }

    async fn auth_openssh_certificate(
        &mut self,
        user: &str,
        certificate: &Certificate,
    ) -> Result<Auth, russh::Error> {
        let checked = self.connection.authority().certificate(user, certificate, self.connection.from).await;
        Ok(self.decide(user, "certificate", checked).await)
    }

    async fn auth_succeeded(&mut self, _session: &mut Session) -> Result<(), russh::Error> {
        // The machine is reached while the client asks for its first channel.
        self.connection.tasks.spawn(Arc::clone(&self.connection).reach());
        Ok(())
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        self.open(channel, reply, session.handle(), ChannelTarget::Session).await;
        Ok(())
    }

    async fn channel_open_direct_tcpip(
        &mut self,
        channel: Channel<Msg>,
        host: &str,
        port: u32,
        _originator_address: &str,
        _originator_port: u32,
        reply: ChannelOpenHandle,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        match self.connection.destination(host, port) {
            Some((host, port)) => {
                self.open(channel, reply, session.handle(), ChannelTarget::Forward { host, port }).await;
            }
            None => {
                reply.reject(prohibited("this access names no such destination")).await;
                self.refuse("ssh.forward", &format!("{}:{port}", clean(host, MOST_USER))).await;
            }
        }
        Ok(())
    }

    async fn channel_open_x11(
        &mut self,
        _channel: Channel<Msg>,
        _originator_address: &str,
        _originator_port: u32,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        reply.reject(prohibited("there is no X11 here")).await;
        Ok(())
    }

    async fn channel_open_direct_streamlocal(
        &mut self,
        _channel: Channel<Msg>,
        path: &str,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        reply.reject(prohibited("sockets of the machine are not forwarded")).await;
        self.refuse("ssh.forward", path).await;
        Ok(())
    }

    async fn channel_close(
        &mut self,
        channel: ChannelId,
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        if let Some(open) = self.channels.remove(&channel) {
            open.inlet.cut.cancel();
        }
        Ok(())
    }

    async fn channel_eof(&mut self, channel: ChannelId, _session: &mut Session) -> Result<(), russh::Error> {
        self.push(channel, ClientMessage::Eof).await;
        Ok(())
    }

    async fn data(
        &mut self,
        channel: ChannelId,
        data: &[u8],
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        self.push(channel, ClientMessage::Data(Bytes::copy_from_slice(data))).await;
        Ok(())
    }

    async fn extended_data(
        &mut self,
        channel: ChannelId,
        code: u32,
        data: &[u8],
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        self.push(channel, ClientMessage::Extended(code, Bytes::copy_from_slice(data))).await;
        Ok(())
    }

    fn adjust_window(&mut self, channel: ChannelId, _current: u32) -> u32 {
        let slow = self.channels.get(&channel).is_some_and(|open| open.inlet.is_slow());
        if slow { TRICKLE } else { WINDOW }
    }

    async fn pty_request(
        &mut self,
        channel: ChannelId,
        term: &str,
        cols: u32,
        rows: u32,
        width: u32,
        height: u32,
        modes: &[(Pty, u32)],
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        let term = clean(term, MOST_NAME);
        let terminal = Terminal { term, cols, rows, width, height, modes: modes.to_vec() };
        self.ask(channel, ChannelRequest::Terminal(Box::new(terminal)), session).await
    }

    async fn x11_request(
        &mut self,
        channel: ChannelId,
        _single_connection: bool,
        _x11_auth_protocol: &str,
        _x11_auth_cookie: &str,
        _x11_screen_number: u32,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        self.refuse("ssh.x11", "").await;
        session.channel_failure(channel)
    }

    async fn env_request(
        &mut self,
        channel: ChannelId,
        name: &str,
        value: &str,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        let room = self.channels.get_mut(&channel).is_some_and(|open| {
            open.variables += 1;
            open.variables <= MOST_VARIABLES
        });
        if !room || !is_allowed(name, value) {
            return session.channel_failure(channel);
        }
        let ask = ChannelRequest::Variable { name: name.to_owned(), value: value.to_owned() };
        self.ask(channel, ask, session).await
    }

    async fn shell_request(&mut self, channel: ChannelId, session: &mut Session) -> Result<(), russh::Error> {
        self.ask(channel, ChannelRequest::Shell, session).await
    }

    async fn exec_request(
        &mut self,
        channel: ChannelId,
        command: &[u8],
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        if command.len() > MOST_COMMAND {
            return session.channel_failure(channel);
        }
        self.ask(channel, ChannelRequest::Exec(command.to_vec()), session).await
    }

    async fn subsystem_request(
        &mut self,
        channel: ChannelId,
        name: &str,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        if name.len() > MOST_NAME {
            return session.channel_failure(channel);
        }
        self.ask(channel, ChannelRequest::Subsystem(name.to_owned()), session).await
    }

    async fn window_change_request(
        &mut self,
        channel: ChannelId,
        cols: u32,
        rows: u32,
        width: u32,
        height: u32,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        self.push(channel, ClientMessage::Size { cols, rows, width, height }).await;
        session.channel_success(channel)
    }

    async fn agent_request(
        &mut self,
        channel: ChannelId,
        _session: &mut Session,
    ) -> Result<bool, russh::Error> {
        if !self.connection.may_forward_agent() {
            self.refuse("ssh.agent", "this access does not ask for an agent").await;
            return Ok(false);
        }
        let Some(open) = self.channels.get(&channel) else { return Ok(false) };
        Ok(open.inlet.ask(ChannelRequest::Agent).await.is_ok())
    }

    async fn signal(
        &mut self,
        channel: ChannelId,
        signal: Sig,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        self.push(channel, ClientMessage::Signal(signal)).await;
        session.channel_success(channel)
    }

    async fn tcpip_forward(
        &mut self,
        address: &str,
        port: &mut u32,
        session: &mut Session,
    ) -> Result<bool, russh::Error> {
        session.debug(true, "this service does not listen on machines for you", "en")?;
        self.refuse("ssh.remote-forward", &format!("{}:{port}", clean(address, MOST_USER))).await;
        Ok(false)
    }

    async fn streamlocal_forward(&mut self, path: &str, session: &mut Session) -> Result<bool, russh::Error> {
        session.debug(true, "this service does not listen on machines for you", "en")?;
        self.refuse("ssh.remote-forward", path).await;
        Ok(false)
    }
}
