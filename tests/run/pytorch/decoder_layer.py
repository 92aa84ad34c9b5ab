import math
import torch
from torch import nn

torch.manual_seed(4)
x = torch.randn(1, 4, 8)
memory = torch.randn(1, 5, 8)


class MultiHeadAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q_proj = nn.Linear(width, width)
        self.k_proj = nn.Linear(width, width)
        self.v_proj = nn.Linear(width, width)
        self.out_proj = nn.Linear(width, width)

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, memory, hidden=None):
        q, k, v = self.q_proj(x), self.k_proj(memory), self.v_proj(memory)
        q, k, v = self.split(q), self.split(k), self.split(v)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        if hidden is not None:
            scores = scores.masked_fill(hidden, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2)), weights


class DecoderLayer(nn.Module):
    def __init__(self, width, heads, feed_forward):
        super().__init__()
        self.self_attention = MultiHeadAttention(width, heads)
        self.cross_attention = MultiHeadAttention(width, heads)
        self.linear1 = nn.Linear(width, feed_forward)
        self.linear2 = nn.Linear(feed_forward, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))

    def forward(self, x, memory):
        future = torch.ones(x.size(1), x.size(1), dtype=torch.bool).triu(1)
        attended, self_weights = self.self_attention(x, x, future)
        x = self.norms[0](x + attended)
        attended, cross_weights = self.cross_attention(x, memory)
        x = self.norms[1](x + attended)
        x = self.norms[2](x + self.linear2(torch.relu(self.linear1(x))))
        return x, self_weights, cross_weights


output, self_weights, cross_weights = DecoderLayer(8, 2, 32)(x, memory)
print(self_weights[0, 0])
print(cross_weights[0, 0])
print(output[0, 0])
