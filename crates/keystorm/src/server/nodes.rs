//! A target of several servers: the nodes of a cluster, a pool, or servers among which clients distribute
//! keys.

use std::borrow::Cow;
use std::net::SocketAddr;

use anyhow::Result;
use host::{Client, Transport};
use runner::{ClusterJob, RingJob, ServerSet};
use workload::{ClusterOptions, Plan, ReadFrom, Target};

use super::{Server, login};

impl Server {
    /// Connections to all present masters of the cluster; `None` without a cluster.
    pub(crate) fn master_clients(&self, target: &Target) -> Result<Option<Vec<Client<Transport>>>> {
        let Some(before) = &self.cluster else { return Ok(None) };
        let login = login(target, self.tls.as_ref());
        let nodes: Vec<SocketAddr> = before.nodes.iter().filter_map(|node| node.address).collect();
        let now = host::cluster::refresh(&nodes, login, login.tls.is_some());
        let now = now.as_ref().unwrap_or(before);
        let masters = now.nodes.iter().take(now.masters()).filter_map(|node| node.address);
        let clients: Result<Vec<_>, _> =
            masters.map(|at| host::log_in(&host::Address::Tcp(at), login)).collect();
        Ok(Some(clients?))
    }

    /// Connections to all servers that have keys of their own: the masters of a cluster, or those that are named.
    pub(crate) fn key_clients(&self, target: &Target) -> Result<Vec<Client<Transport>>> {
        match self.master_clients(target)? {
            Some(clients) => Ok(clients),
            None => self.addresses().iter().map(|at| self.client_at(target, at)).collect(),
        }
    }

    /// Calls `run` with the set of servers if there are several. On a cluster, the set includes the node of
    /// each key in a plan, and the way to read the topology again during the run.
    pub(crate) fn with_several<T>(
        &self,
        plan: &Plan,
        run: impl FnOnce(Option<ServerSet<'_>>) -> Result<T>,
    ) -> Result<T> {
        if let Some((_, hash)) = plan.target.ring() {
            return run(Some(ServerSet::Ring(RingJob { servers: &self.named, hash })));
        }
        if !self.named.is_empty() {
            return run(Some(ServerSet::Pool(&self.addresses())));
        }
        let Some(topology) = &self.cluster else { return run(None) };
        let login = login(&plan.target, self.tls.as_ref());
        let routings = host::cluster::routings(plan, &self.address, login)?;
        // Named servers keep their roles.
        let is_cluster = plan.target.is_cluster();
        let refresh = |nodes: &[SocketAddr]| {
            is_cluster.then(|| host::cluster::refresh(nodes, login, login.tls.is_some()))?
        };
        let job = ClusterJob { topology, routings: &routings, refresh: &refresh };
        run(Some(ServerSet::Cluster(job)))
    }

    /// Number of nodes that get load, if the target has several; otherwise 1.
    pub(crate) fn loaded_nodes(&self, target: &Target) -> u32 {
        let Some(topology) = &self.cluster else { return 1 };
        let masters = topology.masters();
        let options = target.cluster.unwrap_or_default();
        let each = options.replicas_max.map_or(usize::MAX, |most| most as usize);
        let replicas = (topology.nodes.len() - masters).min(masters.saturating_mul(each));
        let nodes = match options.read_from {
            ReadFrom::Masters => masters,
            ReadFrom::Replicas | ReadFrom::All | ReadFrom::Nearest => masters + replicas,
        };
        nodes.max(1) as u32
    }

    /// A plan adapted to this target: values per node are multiplied by the number of nodes.
    ///
    /// # Errors
    /// Returns an error if the result exceeds the limits of plans.
    pub(crate) fn fitted<'p>(&self, plan: &'p Plan) -> Result<Cow<'p, Plan>> {
        let Some(options) = plan.target.cluster.filter(|options| options.rate_per_node) else {
            return Ok(Cow::Borrowed(plan));
        };
        let fitted = plan.with(|parts| {
            parts.load.pace = plan.load.pace.times(self.loaded_nodes(&plan.target).into());
            parts.target.cluster = Some(ClusterOptions { rate_per_node: false, ..options });
        });
        Ok(Cow::Owned(fitted?))
    }

    /// The addresses of all nodes, masters first; without a cluster that of the server itself.
    pub(crate) fn addresses(&self) -> Vec<host::Address> {
        if !self.named.is_empty() {
            return self.named.iter().map(|server| server.address.clone()).collect();
        }
        let Some(topology) = &self.cluster else { return vec![self.address_now()] };
        topology.nodes.iter().filter_map(|node| node.address).map(host::Address::Tcp).collect()
    }

    /// The addresses of the masters; without a cluster those of the servers themselves.
    pub(crate) fn masters(&self) -> Vec<host::Address> {
        let Some(topology) = &self.cluster else { return self.addresses() };
        let masters = topology.nodes.iter().take(topology.masters());
        masters.filter_map(|node| node.address).map(host::Address::Tcp).collect()
    }

    /// The addresses of the replicas of a cluster.
    pub(crate) fn replicas(&self) -> Vec<host::Address> {
        let nodes = self.cluster.iter().flat_map(|topology| &topology.nodes[topology.masters()..]);
        nodes.filter_map(|node| node.address).map(host::Address::Tcp).collect()
    }
}
