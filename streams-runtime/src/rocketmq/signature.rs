//! Requests signed with a secret key, as brokers with access control ask for.
//!
//! The signature is that of the Java client (`AclClientRPCHook`): HMAC-SHA1 over the values of all fields in the
//! order of their names, and the body behind them, in Base64.

use std::net::SocketAddr;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use rocketmq_protocol::RemotingCommand;
use rocketmq_transport::api::RPCHook;
use sha1::Sha1;

use super::config::Secret;

const ACCESS_KEY: &str = "AccessKey";
const SIGNATURE: &str = "Signature";

/// Puts access key and signature into each request.
pub(super) struct Signature {
    access_key: Secret,
    secret_key: Hmac<Sha1>,
}

impl Signature {
    pub(super) fn new(access_key: &Secret, secret_key: &Secret) -> Self {
        let secret_key =
            Hmac::new_from_slice(secret_key.text().as_bytes()).expect("HMAC takes keys of any length");
        Self { access_key: access_key.clone(), secret_key }
    }

    fn of(&self, request: &RemotingCommand) -> String {
        let mut fields: Vec<_> = request.ext_fields().into_iter().flatten().collect();
        fields.sort_unstable();
        let mut mac = self.secret_key.clone();
        for (_, value) in fields.into_iter().filter(|(name, _)| name.as_str() != SIGNATURE) {
            mac.update(value.as_bytes());
        }
        mac.update(request.body().map_or(&[], |body| body.as_ref()));
        BASE64_STANDARD.encode(mac.finalize().into_bytes())
    }
}

impl RPCHook for Signature {
    fn do_before_request(
        &self,
        _: SocketAddr,
        request: &mut RemotingCommand,
    ) -> Result<(), rocketmq_error::SharedError> {
        request.ensure_ext_fields_initialized();
        request.add_ext_field(ACCESS_KEY, self.access_key.text().to_owned());
        // Only now the fields of the request's own header count.
        request.make_custom_header_to_net();
        let signature = self.of(request);
        request.add_ext_field(SIGNATURE, signature);
        Ok(())
    }

    fn do_after_response(
        &self,
        _: SocketAddr,
        _: &RemotingCommand,
        _: &mut RemotingCommand,
    ) -> Result<(), rocketmq_error::SharedError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn a_request_is_signed_over_its_fields_by_name_and_its_body() {
        let signature = Signature::new(&Secret::new("ak"), &Secret::new("secret"));
        let mut request = RemotingCommand::create_remoting_command(10).set_body(Bytes::from_static(b"body"));
        request.ensure_ext_fields_initialized();
        request.add_ext_field("z", "last");
        request.add_ext_field("a", "first");
        request.add_ext_field(SIGNATURE, "of an earlier attempt");
        let anywhere = SocketAddr::from(([127, 0, 0, 1], 9876));

        signature.do_before_request(anywhere, &mut request).unwrap();

        let fields = request.ext_fields().unwrap();
        let field = |name: &str| fields.iter().find(|(key, _)| key.as_str() == name).unwrap().1.as_str();
        assert_eq!(field(ACCESS_KEY), "ak");
        // printf akfirstlastbody | openssl dgst -sha1 -hmac secret -binary | base64
        assert_eq!(field(SIGNATURE), "ds9upbiA2mGSa1MvVBG0TQ3I0YQ=");
    }
}
