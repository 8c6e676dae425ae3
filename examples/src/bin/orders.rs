//! Joins: orders with their payments within an hour, and with the name of the customer.
//!
//! An order whose payment does not come is a row as well, when none can come any more. Customers are a table:
//! each line sets the row of its customer, or removes it. Several files are read in turns, batch by batch, in the
//! order of the job's parameters, so this small table is there when the orders come.
//!
//! ```text
//! cargo run --release -p examples --bin orders -- run --from customers=file:examples/data/customers.jsonl \
//!     --from orders=file:examples/data/orders.jsonl --from payments=file:examples/data/payments.jsonl
//! ```
//!
//! prints
//!
//! ```text
//! {"order":1,"name":"Ada","open_cents":0}
//! {"order":3,"name":"Ada","open_cents":100}
//! {"order":2,"name":"Bob","open_cents":990}
//! {"order":4,"name":null,"open_cents":0}
//! {"order":5,"name":"Bob","open_cents":0}
//! ```

use std::process::ExitCode;
use std::time::Duration;

use streams_runtime::prelude::*;

#[record]
struct Order {
    id: u64,
    customer: u64,
    cents: u64,
    at: i64,
}

#[record]
struct Payment {
    order: u64,
    cents: u64,
    at: i64,
}

#[record]
struct Customer {
    id: u64,
    name: String,
    gone: bool,
    at: i64,
}

/// What an order still costs when it was paid, or when it should have been.
#[record]
struct Settled {
    order: u64,
    customer: u64,
    open_cents: u64,
}

/// That, with the name of the customer.
#[record]
struct Line {
    order: u64,
    name: Option<String>,
    open_cents: u64,
}

/// What each order still costs an hour after it was made, and whom to remind.
#[stream_job]
fn reminders(
    customers: Stream<Customer>,
    orders: Stream<Order>,
    payments: Stream<Payment>,
    /// How long an order may stay unpaid.
    #[arg(default = "1h")]
    patience: Duration,
) -> Stream<Line> {
    let payments = payments.event_time(|p| p.at, out_of_order(secs(1))).key_by(|p| p.order);
    let settled = orders.event_time(|o| o.at, out_of_order(secs(1))).key_by(|o| o.id).left_join(
        payments,
        within(secs(0), patience),
        |order, payment| Settled {
            order: order.id,
            customer: order.customer,
            open_cents: order.cents.saturating_sub(payment.map_or(0, |p| p.cents)),
        },
    );
    let customers = customers
        .event_time(|c| c.at, out_of_order(secs(1)))
        .key_by(|c| c.id)
        .map(|c| if c.gone { None } else { Some(c) });
    settled.key_by(|s| s.customer).left_join_table(customers, forever(), |settled, customer| Line {
        order: settled.order,
        name: customer.map(|c| c.name.clone()),
        open_cents: settled.open_cents,
    })
}

fn main() -> ExitCode {
    streams_runtime::main(reminders)
}
